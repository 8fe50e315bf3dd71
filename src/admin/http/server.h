// The admin server: listens and answers on a thread of its own, independent of the workers.
//
// At most Limits::connections_max clients. One more replaces the one that the server has waited for
// longest: for a request, its rest, or its response to be read. So unfinished requests cannot keep
// probes out. Only if every response is being computed does a new client get 503; at most
// kRefusedMax of these at a time, the rest are closed at once.
//
// Threads: construct, start and destroy from the owner's; `answer` is called on the server's.
// Lifetimes: `answer` and what it refers to outlive this. Errors: the constructor throws
// std::system_error (start-up).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "config/config.h"
#include "http/message.h"
#include "io/clock.h"
#include "io/listener.h"

namespace cuckooguard::http {

// One client of the admin server: requests one after the other, each answered before the next is
// read (HTTP/1.1 with keep-alive and pipelining, HTTP/1.0, Expect: 100-continue).
//
//   nothing comes for idle_max     closed without a word
//   a request takes request_max    408 (from its first byte to its last), then closed
//   header_bytes_max               431, then closed
//   body_bytes_max                 413, then closed
//   no HTTP                        400, then closed
//   the response is not read       closed after request_max
//   `answer` throws                500
//   `answer` says it is to come    asked again every kAskEvery, for as long as it says so
// "Then closed": no more is sent, and input is discarded for linger_max, since closing at once
// would destroy the response to a client that is still sending.
//
// Threads: its io_context's. Lifetimes: kept by its operations; `calls` outlive it.
struct Limits {
  std::size_t connections_max = 64;
  std::uint32_t header_bytes_max = 8 * 1024;
  std::uint64_t body_bytes_max = 64 * 1024;
  std::chrono::milliseconds idle_max{60'000};
  std::chrono::milliseconds request_max{10'000};
  std::chrono::milliseconds linger_max{2'000};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  static constexpr std::chrono::milliseconds kAskEvery{10};

  struct Calls {
    std::function<Response(const Request&)> answer;
    std::function<void(Connection&)> on_end;  // from its destructor
  };

  Connection(Socket socket, const Limits& limits, const Calls& calls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // Reads nothing: sends this, and ends.
  void refuse(Response response);
  // Since when the client has been waited for: for a request, its rest, or its reading the
  // response. Nothing while the response is being computed.
  std::optional<io::TimePoint> waiting_since() const { return waiting_since_; }
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  void wait_for_request();
  void read_header();
  void read_body();
  void say_continue();
  void failed(const Error& error);
  void respond();
  void respond_later();
  template <class Body>
  void write(Response&& response, unsigned version, bool keep_alive);
  void linger();
  void throw_away();
  void limit_time(std::chrono::milliseconds time);

  Socket socket_;
  const Limits& limits_;
  const Calls& calls_;
  boost::asio::steady_timer timer_;
  std::uint64_t timings_ = 0;  // how often the timer was set, to ignore one that expired late
  bool has_timed_out_ = false;
  boost::beast::flat_buffer buffer_;
  std::unique_ptr<Parser> parser_;  // of the request that comes next
  std::optional<io::TimePoint> waiting_since_ = io::now_since_boot();
  std::optional<io::TimePoint> asked_since_;  // of a request whose response is to come
};

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
