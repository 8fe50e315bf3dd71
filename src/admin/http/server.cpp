#include "http/server.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/post.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace cuckooguard::http {
namespace {

int family_of(int socket) {
  int family = AF_UNSPEC;
  socklen_t bytes = sizeof family;
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
  return family;
}

}  // namespace

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
