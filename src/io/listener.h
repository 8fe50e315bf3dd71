// Accepts connections and hands their sockets on.
//
// The socket is bound here, or inherited from somebody who keeps it open (systemd's socket
// activation): then nobody who connects while this process ends and another one begins is refused;
// they wait in its backlog.
//
// Threads: belongs to the io_context it is given (the main thread's).
// Errors: opening throws std::system_error (start-up). When an accept fails for want of descriptors
// or memory it pauses for kPauseAfterFailure instead of spinning; the waiting clients stay in the
// backlog. on_failure is told of the first failure, and as long as they go on once per kTellEvery.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/config.h"
#include "io/clock.h"

namespace cuckooguard::io {

class Listener {
 public:
  static constexpr std::chrono::milliseconds kPauseAfterFailure{100};
  static constexpr std::chrono::seconds kTellEvery{10};

  struct Calls {
    std::function<void(int socket)> on_accept;  // takes the socket over
    std::function<void(std::error_code)> on_failure;
  };

  // `inherited`: a socket that listens on `address` (listens_on()), and is taken over; -1: none.
  Listener(boost::asio::io_context& io,
           const config::Address& address,
           Calls calls,
           int inherited = -1);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  static bool listens_on(int socket, const config::Address& address);

  // Hands on who waits in the backlog, whom closing would reset. Not of an inherited socket, where
  // they wait for the next process. (One who comes between the two is reset, as with any server.) A
  // Unix socket's file goes with it, unless it was inherited.
  void close();
  // The port that the kernel gave where the address says 0.
  std::uint16_t port() const;

 private:
  void bind(boost::asio::io_context& io, const config::Address& address);
  void accept_next();
  void accept_waiting();
  void let_go();
  void failed(std::error_code error);

  using Protocol = boost::asio::generic::stream_protocol;
  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  boost::asio::steady_timer pause_;
  Calls calls_;
  std::optional<TimePoint> told_;  // on_failure, last
  bool is_inherited_;
  std::string unix_path_;  // to be unlinked at the end
};

}  // namespace cuckooguard::io
