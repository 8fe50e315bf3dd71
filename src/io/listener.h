// Accepts connections and hands their sockets on.
//
// The sockets are bound here, one for each address of a name; an address that this machine does not
// have (::1 where IPv6 is switched off) is left out if there is another one. Or they are inherited
// from a process that keeps them open (systemd's socket activation): then no client that connects
// while this process ends and the next one starts is refused; they wait in the backlog.
//
// Threads: belongs to the io_context it is given (the main thread's). The constructor and
// listens_on() block while a name is looked up: for start-up alone.
// Errors: opening throws std::system_error (start-up). When an accept fails for want of descriptors
//   or memory, the listener pauses for kPauseAfterFailure instead of spinning; waiting clients stay
//   in the backlog. on_failure reports the first failure, and further ones once per kTellEvery.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/config.h"
#include "io/clock.h"

namespace cuckooguard::io {

// Of a Unix socket; as config::Listen.
struct SocketFile {
  std::optional<std::uint32_t> mode{};
  std::string group{};
};

class Listener {
 public:
  static constexpr std::chrono::milliseconds kPauseAfterFailure{100};
  static constexpr std::chrono::seconds kTellEvery{10};

  struct Calls {
    std::function<void(int socket)> on_accept;  // takes the socket over
    std::function<void(std::error_code)> on_failure;
  };

  // `inherited`: sockets that listen on `address` (listens_on()), and are taken over; none: it is
  // bound here.
  Listener(boost::asio::io_context& io,
           const config::Address& address,
           Calls calls,
           const std::vector<int>& inherited = {},
           const SocketFile& file = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Also if it is one of several addresses of a name.
  static bool listens_on(int socket, const config::Address& address);

  // Hands on the clients that wait in the backlog, which closing would reset. (One that comes
  // between the two is reset, as with any server.) Those of an inherited socket are left for the
  // next process. Removes a Unix socket's file, unless it was inherited.
  void close();
  // Where it listens, in numbers; the port that the kernel gave where the address says 0.
  std::vector<config::Address> addresses() const;
  std::uint16_t port() const { return addresses().front().port; }

 private:
  using Protocol = boost::asio::generic::stream_protocol;
  // What waits keeps it: the loop may call back after the listener has ended.
  struct Acceptor {
    Acceptor(boost::asio::io_context& io, Listener& of) : listener(&of), socket(io), pause(io) {}
    Listener* listener;  // none once it has ended
    boost::asio::basic_socket_acceptor<Protocol> socket;
    boost::asio::steady_timer pause;
  };

  void bind(boost::asio::io_context& io, const config::Address& address);
  void bind_file(boost::asio::io_context& io,
                 const config::Address& address,
                 const SocketFile& file);
  static void accept_next(const std::shared_ptr<Acceptor>& acceptor);
  void accept_waiting(Acceptor& acceptor) const;
  void let_go();
  void failed(const std::shared_ptr<Acceptor>& acceptor, std::error_code error);

  std::vector<std::shared_ptr<Acceptor>> acceptors_;
  Calls calls_;
  std::optional<TimePoint> told_;  // on_failure, last
  bool is_inherited_;
  std::string unix_path_;  // to be unlinked at the end
};

}  // namespace cuckooguard::io
