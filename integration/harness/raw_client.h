// One client connection, in bytes: to Redis or to the guard, so that what they say can be compared
// byte by byte.
//
// Errors: std::runtime_error when a deadline passes or the peer closes where it should not;
// GoogleTest reports it. Where a reply ends is asked of the product's own framer, which has its own
// tests against hiredis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "harness/deadline.h"
#include "resp/reply_framer.h"

namespace cuckooguard::harness {

class RawClient {
 public:
  static RawClient to_port(std::uint16_t port);  // of 127.0.0.1
  static RawClient to_host(const std::string& host, std::uint16_t port);
  static RawClient to_unix(const std::filesystem::path& path);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&&) = delete;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // All of it; waits for a peer that reads slowly, and reads nothing meanwhile.
  void send(std::string_view bytes);
  // In pieces that arrive one by one as far as the network is concerned (TCP_NODELAY), cut at these
  // offsets.
  void send_cut(std::string_view bytes, std::span<const std::size_t> cuts);
  // False if the peer has closed.
  bool try_send(std::string_view bytes);
  // As much as goes without waiting.
  std::size_t send_some(std::string_view bytes) const;

  std::string read_reply();
  std::string read_replies(std::size_t count);
  std::string read_exactly(std::size_t bytes);
  // Up to and including `ending`.
  std::string read_through(std::string_view ending);
  // All until the peer closes; how it closes (FIN or RST) does not matter.
  std::string read_until_closed();
  // At least one byte; 0 if the peer has closed.
  std::size_t read_some(std::span<char> into);

  // Writes and reads at the same time, as clients that pipeline more than the socket buffers hold
  // must.
  std::string exchange(std::string_view request, std::size_t replies);
  std::string call(std::initializer_list<std::string_view> arguments);

  void finish_sending() const;  // half-close
  void close();
  bool is_closed_by_peer();  // without waiting; what has come is kept

 private:
  explicit RawClient(int socket);

  // Waits for `events`, then returns those that came; throws at the deadline.
  short wait_for(short events, const Deadline& deadline) const;
  bool receive(const Deadline& deadline);  // appends to received_; false at the end
  std::size_t next_reply_bytes();          // 0: not all of it has come yet
  std::string_view unread() const { return std::string_view(received_).substr(taken_); }
  std::string take(std::size_t bytes);  // from the front of unread()
  void begin_reply_anew();              // what follows is not within a reply

  int socket_;
  std::string received_;
  std::size_t taken_ = 0;   // of received_, given to the test
  std::size_t framed_ = 0;  // of unread(), seen by framer_
  resp::ReplyFramer framer_;
};

}  // namespace cuckooguard::harness
