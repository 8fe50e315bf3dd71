#include "http/server.h"

#include <exception>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffer_traits.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/write.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace cuckooguard::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

constexpr std::size_t kReadBytes = 4096;
// What a request's header, and the beginning of the next request, may take.
constexpr std::size_t kBufferBytesMax = 64 * 1024;

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

template <class Message>
void describe(Message& message, const Response& response) {
  message.set(beast::http::field::content_type, response.content_type);
  message.set("X-Content-Type-Options", "nosniff");
  message.set(beast::http::field::cache_control, response.etag.empty() ? "no-store" : "no-cache");
  if (!response.etag.empty()) {
    message.set(beast::http::field::etag, response.etag);
  }
  if (!response.content_security_policy.empty()) {
    message.set("Content-Security-Policy", response.content_security_policy);
    message.set("Referrer-Policy", "no-referrer");
  }
  if (!response.allow.empty()) {
    message.set(beast::http::field::allow, response.allow);
  }
  if (!response.challenge.empty()) {
    message.set(beast::http::field::www_authenticate, response.challenge);
  }
}

std::optional<Response> refusal_of(const boost::system::error_code& error) {
  if (error == beast::http::error::header_limit || error == beast::http::error::buffer_overflow) {
    return refusal(431, "header_too_large", "The request's header is too large.");
  }
  if (error == beast::http::error::body_limit) {
    return refusal(413, "body_too_large", "The request's body is too large.");
  }
  const bool is_about_http =
      error.category() == beast::http::make_error_code(beast::http::error::bad_method).category();
  const bool has_ended =
      error == beast::http::error::end_of_stream || error == beast::http::error::partial_message;
  return is_about_http && !has_ended
             ? std::optional(refusal(400, "bad_request", "This is not an HTTP request."))
             : std::nullopt;
}

int family_of(int socket) {
  int family = AF_UNSPEC;
  socklen_t bytes = sizeof family;
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
  return family;
}

}  // namespace

Connection::Connection(Socket socket, const Limits& limits, const Calls& calls)
    : socket_(std::move(socket)),
      limits_(limits),
      calls_(calls),
      timer_(socket_.get_executor()),
      buffer_(kBufferBytesMax) {}

Connection::~Connection() {
  calls_.on_end(*this);
}

void Connection::start() {
  wait_for_request();
}

void Connection::refuse(Response response) {
  constexpr unsigned kHttp11 = 11;
  write<beast::http::string_body>(std::move(response), kHttp11, false);
}

void Connection::close() {
  waiting_since_.reset();
  Error ignored;
  (void)socket_.close(ignored);
}

// The timer may go off when the operation has just ended, and its handler waits: who goes on
// without setting it anew asks has_timed_out_.
void Connection::limit_time(std::chrono::milliseconds time) {
  has_timed_out_ = false;
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this(), set = ++timings_](const Error& error) {
    const auto self = weak.lock();
    if (!error && self && self->timings_ == set) {
      self->has_timed_out_ = true;
      Error ignored;
      (void)self->socket_.cancel(ignored);
    }
  });
}

void Connection::wait_for_request() {
  if (!socket_.is_open()) {
    return;  // its place was given away when the response had just been written
  }
  waiting_since_ = io::now_since_boot();
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(limits_.header_bytes_max);
  parser_->body_limit(limits_.body_bytes_max);
  if (buffer_.size() > 0) {
    read_header();
    return;
  }
  limit_time(limits_.idle_max);
  socket_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](const Error& error, std::size_t bytes) {
                            if (!error) {
                              self->buffer_.commit(bytes);
                              self->read_header();
                            }
                          });
}

void Connection::read_header() {
  limit_time(limits_.request_max);
  beast::http::async_read_header(
      socket_, buffer_, *parser_, [self = shared_from_this()](const Error& error, std::size_t) {
        if (error) {
          self->failed(error);
        } else if (beast::http::token_list(self->parser_->get()[beast::http::field::expect])
                       .exists("100-continue")) {
          self->say_continue();
        } else {
          self->read_body();
        }
      });
}

// The client waits for it before it sends the body.
void Connection::say_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_,
                    asio::buffer(kContinue),
                    [self = shared_from_this()](const Error& error, std::size_t) {
                      if (error || self->has_timed_out_) {
                        self->failed(error);
                      } else {
                        self->read_body();
                      }
                    });
}

void Connection::read_body() {
  beast::http::async_read(
      socket_, buffer_, *parser_, [self = shared_from_this()](const Error& error, std::size_t) {
        if (error) {
          self->failed(error);
        } else {
          self->respond();
        }
      });
}

void Connection::failed(const Error& error) {
  if (has_timed_out_) {
    refuse(refusal(408, "timeout", "The request took too long to arrive."));
  } else if (auto response = refusal_of(error)) {
    refuse(*std::move(response));
  }
}

void Connection::respond() {
  const auto& request = parser_->get();
  asked_since_ = asked_since_.value_or(io::now_since_boot());
  waiting_since_.reset();
  Response response;
  try {
    response = calls_.answer({.method = view(request.method_string()),
                              .target = view(request.target()),
                              .authorization = view(request[beast::http::field::authorization]),
                              .body = request.body(),
                              .if_none_match = view(request[beast::http::field::if_none_match]),
                              .host = view(request[beast::http::field::host]),
                              .origin = view(request[beast::http::field::origin]),
                              .since = *asked_since_});
  } catch (const std::exception&) {
    response = refusal(500, "internal", "The guard could not render this page.");
  }
  if (response.is_to_come) {
    respond_later();
    return;
  }
  asked_since_.reset();
  waiting_since_ = io::now_since_boot();
  const unsigned version = request.version();
  if (request.method() == beast::http::verb::head || response.status == kNotModified) {
    write<beast::http::empty_body>(std::move(response), version, request.keep_alive());
  } else {
    write<beast::http::string_body>(std::move(response), version, request.keep_alive());
  }
}

void Connection::respond_later() {
  timer_.expires_after(kAskEvery);
  timer_.async_wait([self = shared_from_this(), set = ++timings_](const Error& error) {
    if (!error && self->timings_ == set && self->socket_.is_open()) {
      self->respond();
    }
  });
}

// With an empty body, the length of the one that a GET would have had is told all the same.
template <class Body>
void Connection::write(Response&& response, unsigned version, bool keep_alive) {
  auto message = std::make_shared<beast::http::response<Body>>();
  message->result(response.status);
  message->version(version);
  message->keep_alive(keep_alive);
  describe(*message, response);
  if (response.status != kNotModified) {
    message->content_length(response.body.size());
  }
  if constexpr (std::is_same_v<Body, beast::http::string_body>) {
    message->body() = std::move(response.body);
  }
  limit_time(limits_.request_max);
  beast::http::async_write(
      socket_,
      *message,
      [self = shared_from_this(), message, keep_alive](const Error& error, std::size_t) {
        if (error) {
          return;
        }
        if (keep_alive) {
          self->wait_for_request();
        } else {
          self->linger();
        }
      });
}

void Connection::linger() {
  Error error;
  (void)socket_.shutdown(asio::socket_base::shutdown_send, error);
  if (!error) {
    limit_time(limits_.linger_max);
    throw_away();
  }
}

void Connection::throw_away() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](const Error& error, std::size_t) {
                            if (!error && !self->has_timed_out_) {
                              self->throw_away();
                            }
                          });
}

Server::Server(const config::Address& address, const Limits& limits, Calls calls)
    : limits_(limits),
      of_connections_{.answer = std::move(calls.answer),
                      .on_end = [this](Connection& ended) { std::erase(open_, &ended); }},
      on_failure_(std::move(calls.on_failure)),
      each_second_(std::move(calls.each_second)),
      io_(1),
      second_(io_),
      listener_(io_,
                address,
                {.on_accept = [this](int socket) { admit(socket); }, .on_failure = on_failure_}) {
  if (each_second_) {
    wait_a_second();
  }
}

// Connections end with the io_context, which has their operations.
Server::~Server() {
  io_.stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Server::start() {
  thread_ = std::thread([this] {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception&) {  // that connection has ended, and the guard goes on
        on_failure_(std::make_error_code(std::errc::not_enough_memory));
      }
    }
  });
}

void Server::wait_a_second() {
  second_.expires_after(std::chrono::seconds(1));
  second_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      wait_a_second();
      each_second_();
    }
  });
}

void Server::post(std::function<void()> call) {
  boost::asio::post(io_, std::move(call));
}

void Server::admit(int socket) {
  const bool is_full = open_.size() >= limits_.connections_max && !close_longest_waiting();
  if (is_full && open_.size() >= limits_.connections_max + kRefusedMax) {
    ::close(socket);
    return;
  }
  Connection::Socket accepted(io_);
  boost::system::error_code error;
  (void)accepted.assign({family_of(socket), 0}, socket, error);
  if (error) {
    ::close(socket);
    return;
  }
  const auto connection =
      std::make_shared<Connection>(std::move(accepted), limits_, of_connections_);
  open_.push_back(connection.get());
  if (is_full) {
    connection->refuse(
        refusal(503, "too_many_connections", "The admin server has too many connections."));
  } else {
    connection->start();
  }
}

bool Server::close_longest_waiting() {
  Connection* longest = nullptr;
  io::TimePoint longest_since = io::TimePoint::max();
  for (Connection* const connection : open_) {
    const auto since = connection->waiting_since();
    if (since && *since < longest_since) {
      longest = connection;
      longest_since = *since;
    }
  }
  if (longest == nullptr) {
    return false;
  }
  longest->close();
  return true;
}

}  // namespace cuckooguard::http
