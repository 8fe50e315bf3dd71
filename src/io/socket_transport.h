// A socket in an AsioLoop's epoll set. TCP sockets get TCP_NODELAY: what is written is already a
// whole batch.
//
// States: resolving -> connecting -> up -> closed. An accepted socket starts as `up`.
// Errors: a failed attempt goes on with the next address of the name; when none is left, the
//   watcher gets `hung_up` and why_ended() has the reason.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <sys/socket.h>

#include "io/transport.h"
#include "text/network.h"

namespace cuckooguard::io {

// An address as the kernel takes it, TCP or unix.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

class SocketTransport final : public Transport {
 public:
  // `epoll` is the loop's set; it must outlive the transport. Takes `socket` over; -1 while there
  // is none yet.
  SocketTransport(int epoll, int socket);
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;
  ~SocketTransport() override;

  void bind(Watcher& watcher) override { watcher_ = &watcher; }
  void watch(Interest interest) override;
  Transfer read(std::span<char> into) override;
  Transfer write(std::span<const std::string_view> pieces) override;
  void finish_writing() override;
  void close() override;
  bool is_open() const override { return state_ != State::closed; }
  int release() override;
  bool may_be_released() const override { return state_ == State::up; }
  std::optional<std::chrono::milliseconds> unheard_for() const override;

  // Tries the addresses in order until one connection is up. An empty list fails at once (in the
  // next batch). False: the backlog of a Unix socket is full; nothing signals its end, so try again
  // a moment later.
  [[nodiscard]] bool connect(std::vector<SocketAddress> addresses);

  // From the loop: epoll reported `events` for this transport.
  void deliver(std::uint32_t events);
  // From the loop: tells the watcher that no connection could be made.
  void deliver_failure();

  // For work that ends later and must not keep the transport alive, nor outlive it: expires on
  // close().
  std::weak_ptr<SocketTransport*> weak_self();

  std::string why_ended() const override;

 private:
  enum class State : std::uint8_t { resolving, connecting, up, closed };

  Transfer failed_transfer();
  bool try_next_address();
  bool is_backlog_full() const;
  void on_connect_result();
  void enter_epoll(std::uint32_t events);
  void leave_epoll();

  int epoll_;
  int socket_;
  State state_;
  bool in_epoll_ = false;
  Interest interest_ = Interest::none;
  int last_error_ = 0;  // errno's
  bool is_name_unknown_ = false;
  Watcher* watcher_ = nullptr;
  std::vector<SocketAddress> untried_;  // the next one last
  std::shared_ptr<SocketTransport*> self_;
};

// The host of the socket's own end, as digits, without brackets; empty: it has none.
std::string local_host(int socket);
// Of the socket's other end.
text::Network peer_network(int socket);

// Of TCP: a peer whose machine has vanished is found out by probes.
struct KeepAlive {
  std::chrono::seconds idle{300};  // without a byte, before the first; as Redis's tcp-keepalive
  std::chrono::seconds interval{100};
  int probes = 3;
};

// Non-blocking, close-on-exec; over TCP without delay and with keep-alive. Takes `socket` over only
// on success.
std::error_code prepare_socket(int socket, const KeepAlive& keep_alive = {});

}  // namespace cuckooguard::io
