// The admin server: listens, and answers on a thread of its own, so that it neither waits for a
// worker nor holds one up.
//
// At most Limits::connections_max clients. One more takes the place of the one whose client has
// kept it waiting for longest: for a request, for the rest of one, or for its response to be taken.
// So nobody can keep probes out with requests that never end. Only while every place has a response
// to be made does one more get 503. Those that are being refused are kRefusedMax at most, the rest
// are closed at once.
//
// Threads: construct, start and destroy from the owner's; `answer` is called on the server's.
// Lifetimes: `answer` and what it refers to outlive this. Errors: the constructor throws
// std::system_error (start-up).
#pragma once

#include <cstdint>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/config.h"
#include "http/connection.h"
#include "io/listener.h"

namespace cuckooguard::http {

class Server {
 public:
  static constexpr std::size_t kRefusedMax = 16;

  struct Calls {
    std::function<Response(const Request&)> answer;
    std::function<void(std::error_code)> on_failure;  // of accept, or of memory
    std::function<void()> each_second{};              // on the server's thread, too
  };

  Server(const config::Address& address, const Limits& limits, Calls calls);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();
  // `call` runs on the server's thread, between two requests; not if it ends before. Any thread.
  void post(std::function<void()> call);
  // As io::Listener's.
  std::vector<config::Address> addresses() const { return listener_.addresses(); }
  std::uint16_t port() const { return listener_.port(); }

 private:
  void admit(int socket);
  // False: there is none.
  bool close_longest_waiting();
  void wait_a_second();

  Limits limits_;
  Connection::Calls of_connections_;
  std::function<void(std::error_code)> on_failure_;
  std::vector<Connection*> open_;  // those that are being refused, too
  std::function<void()> each_second_;
  boost::asio::io_context io_;
  boost::asio::steady_timer second_;
  io::Listener listener_;
  std::thread thread_;
};

}  // namespace cuckooguard::http
