// Real sockets for the tests of io: loopback TCP, Unix sockets, and the other end of either.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/socket_transport.h"

namespace cuckooguard::io {

inline constexpr int kPatienceMs = 30'000;

inline int checked(int result, const char* what) {
  if (result < 0) {
    throw std::system_error(errno, std::system_category(), what);
  }
  return result;
}

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

  void send(std::string_view bytes) const {
    checked(static_cast<int>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)), "send");
  }
  // Waits for exactly so many bytes; fewer if the end comes first.
  std::string receive(std::size_t bytes) const {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, kPatienceMs) <= 0) {
        throw std::runtime_error("nothing is received");
      }
      const ssize_t count = ::recv(fd_, text.data() + got, bytes - got, 0);
      if (count <= 0) {
        break;
      }
      got += static_cast<std::size_t>(count);
    }
    text.resize(got);
    return text;
  }
  // The peer of this socket gets a reset instead of a farewell.
  void reset_connection() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    reset();
  }

 private:
  int fd_;
};

inline SocketAddress loopback(std::uint16_t port) {
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(port);
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SocketAddress address;
  std::memcpy(&address.storage, &target, sizeof target);
  address.length = sizeof target;
  return address;
}

inline SocketAddress unix_at(const std::filesystem::path& path) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  path.string().copy(target.sun_path, sizeof target.sun_path - 1);
  SocketAddress address;
  std::memcpy(&address.storage, &target, sizeof target);
  address.length = sizeof target;
  return address;
}

// Bound, and listening if `listens`; else it holds a port on which nobody answers.
class Port {
 public:
  explicit Port(bool listens = true) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    SocketAddress address = loopback(0);
    checked(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address.storage), address.length),
            "bind");
    checked(::getsockname(
                socket_.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length),
            "getsockname");
    sockaddr_in bound{};
    std::memcpy(&bound, &address.storage, sizeof bound);
    number_ = ntohs(bound.sin_port);
    if (listens) {
      checked(::listen(socket_.get(), 16), "listen");
    }
  }

  std::uint16_t number() const { return number_; }
  SocketAddress address() const { return loopback(number_); }
  Fd accept() const { return Fd(checked(::accept(socket_.get(), nullptr, nullptr), "accept")); }

 private:
  Fd socket_;
  std::uint16_t number_ = 0;
};

inline Fd connect_to(const SocketAddress& address) {
  Fd socket(checked(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  checked(
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length),
      "connect");
  return socket;
}

// Two ends of one connection.
struct Pair {
  Fd ours;
  Fd theirs;

  static Pair tcp() {
    const Port port;
    Fd theirs = connect_to(port.address());
    return {port.accept(), std::move(theirs)};
  }
  static Pair local() {
    int ends[2] = {-1, -1};
    checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    return {Fd(ends[0]), Fd(ends[1])};
  }
};

}  // namespace cuckooguard::io
