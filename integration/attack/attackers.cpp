#include "attack/attackers.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/loopback.h"

namespace cuckooguard::attack {

Attackers::Attackers(std::uint16_t port, std::size_t connections, AttackGrammar grammar)
    : port_(port),
      grammar_(std::move(grammar)),
      connections_(connections),
      thread_([this] { run(); }) {}

void Attackers::stop() {
  is_over_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Attackers::come(Connection& connection) {
  connection.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_in address = harness::loopback(port_);
  const int result =
      ::connect(connection.socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (result != 0 && errno != EINPROGRESS) {
    go(connection);
    return;
  }
  connection.reads = grammar_.choose(10) != 0;
  connection.unsent = grammar_.login();
  connection.bursts_left =
      grammar_.choose(4) == 0 ? 1 + grammar_.choose(3) : 1 + grammar_.choose(300);
  ++connects_;
}

void Attackers::go(Connection& connection) const {
  ::close(connection.socket);
  connection = {};
}

// False: it is over with this connection.
bool Attackers::send(Connection& connection) {
  if (connection.unsent.empty()) {
    if (connection.bursts_left == 0) {
      return false;
    }
    --connection.bursts_left;
    connection.unsent = connection.bursts_left == 0 ? grammar_.half() : grammar_.burst();
  }
  const ssize_t sent =
      ::send(connection.socket, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  bytes_sent_ += static_cast<std::uint64_t>(sent);
  connection.unsent.erase(0, static_cast<std::size_t>(sent));
  return true;
}

bool Attackers::receive(const Connection& connection) {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t bytes = ::recv(connection.socket, buffer.data(), buffer.size(), 0);
  return bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR));
}

// False: it is to go.
bool Attackers::serve(Connection& connection, short ready) {
  // One that neither reads nor can be sent anything is a hostage of its own, until it goes.
  if (ready == 0 && !connection.reads && grammar_.choose(100) == 0) {
    return false;
  }
  return ((ready & POLLIN) == 0 || receive(connection)) &&
         ((ready & POLLOUT) == 0 || send(connection)) && (ready & (POLLERR | POLLHUP)) == 0;
}

void Attackers::run() {
  std::vector<pollfd> polled;
  while (!is_over_) {
    polled.clear();
    for (Connection& connection : connections_) {
      if (connection.socket < 0) {
        come(connection);
      }
      const auto events = static_cast<short>(connection.reads ? POLLIN | POLLOUT : POLLOUT);
      polled.push_back({.fd = connection.socket, .events = events, .revents = 0});
    }
    constexpr int kPatienceMs = 50;
    ::poll(polled.data(), polled.size(), kPatienceMs);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      Connection& connection = connections_[i];
      const bool goes_on = serve(connection, polled[i].revents);
      if (connection.socket >= 0 && !goes_on) {
        go(connection);
      }
    }
  }
  for (Connection& connection : connections_) {
    if (connection.socket >= 0) {
      go(connection);
    }
  }
}

}  // namespace cuckooguard::attack
