#include "harness/raw_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/loopback.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} * 1024;

bool is_end(int error) {
  return error == ECONNRESET || error == EPIPE;
}

int connected(int family, const sockaddr* address, socklen_t length) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || ::connect(socket, address, length) != 0) {
    const int error = errno;
    ::close(socket);
    throw std::system_error(error, std::system_category(), "connect");
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // of no use to a Unix socket
  return socket;
}

}  // namespace

RawClient RawClient::to_port(std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  return RawClient(connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

RawClient RawClient::to_host(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string number = std::to_string(port);
  const int error = ::getaddrinfo(host.c_str(), number.c_str(), &wanted, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  std::string trouble = error == 0 ? "" : ::gai_strerror(error);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    try {
      return RawClient(connected(each->ai_family, each->ai_addr, each->ai_addrlen));
    } catch (const std::system_error& refused) {
      trouble = refused.what();
    }
  }
  throw std::runtime_error("cannot connect to " + host + ":" + number + ": " + trouble);
}

RawClient RawClient::to_unix(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(&address.sun_path[0], path.c_str(), sizeof address.sun_path - 1);
  return RawClient(connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

RawClient::RawClient(int socket) : socket_(socket) {}

RawClient::RawClient(RawClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      received_(std::move(other.received_)),
      taken_(other.taken_),
      framed_(other.framed_),
      framer_(other.framer_) {}

RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (socket_ >= 0) {
    ::close(std::exchange(socket_, -1));
  }
}

short RawClient::wait_for(short events, const Deadline& deadline) const {
  pollfd waiting{.fd = socket_, .events = events, .revents = 0};
  if (!deadline.poll(waiting)) {
    throw std::runtime_error("nothing came before the deadline; unread so far: " + shown(unread()));
  }
  return waiting.revents;
}

bool RawClient::try_send(std::string_view bytes) {
  const Deadline deadline;
  while (!bytes.empty()) {
    wait_for(POLLOUT, deadline);
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (is_end(errno)) {
      return false;
    } else if (errno != EAGAIN) {
      throw std::system_error(errno, std::system_category(), "send");
    }
  }
  return true;
}

void RawClient::send(std::string_view bytes) {
  if (!try_send(bytes)) {
    throw std::runtime_error("the peer has closed; unread so far: " + shown(unread()));
  }
}

std::size_t RawClient::send_some(std::string_view bytes) const {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

void RawClient::send_cut(std::string_view bytes, std::span<const std::size_t> cuts) {
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    if (cut > begin && cut < bytes.size()) {
      send(bytes.substr(begin, cut - begin));
      begin = cut;
    }
  }
  send(bytes.substr(begin));
}

std::size_t RawClient::read_some(std::span<char> into) {
  const Deadline deadline;
  for (;;) {
    wait_for(POLLIN, deadline);
    const ssize_t got = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    if (is_end(errno)) {
      return 0;
    }
    if (errno != EAGAIN) {
      throw std::system_error(errno, std::system_category(), "recv");
    }
  }
}

bool RawClient::receive(const Deadline& deadline) {
  wait_for(POLLIN, deadline);
  static thread_local std::array<char, kReadBytes> buffer;
  const std::size_t got = read_some(buffer);
  received_.erase(0, std::exchange(taken_, 0));
  received_.append(buffer.data(), got);
  return got > 0;
}

std::string RawClient::take(std::size_t bytes) {
  std::string front(unread().substr(0, bytes));
  taken_ += bytes;
  framed_ -= std::min(framed_, bytes);
  return front;
}

void RawClient::begin_reply_anew() {
  framed_ = 0;
  framer_ = {};
}

std::size_t RawClient::next_reply_bytes() {
  while (framed_ < unread().size()) {
    const auto piece = framer_.next(unread().substr(framed_));
    framed_ += piece.bytes;
    if (piece.malformed) {
      throw std::runtime_error("not RESP: " + shown(unread().substr(framed_)));
    }
    if (piece.ends) {
      return framed_;
    }
  }
  return 0;
}

std::string RawClient::read_reply() {
  return exchange({}, 1);
}

std::string RawClient::read_replies(std::size_t count) {
  return exchange({}, count);
}

std::string RawClient::exchange(std::string_view request, std::size_t replies) {
  const Deadline deadline;
  std::size_t end = 0;
  while (replies > 0 || !request.empty()) {
    if (replies > 0) {
      if (const std::size_t bytes = next_reply_bytes(); bytes > 0) {
        end = bytes;
        --replies;
        continue;
      }
    }
    const int wanted = POLLIN | (request.empty() ? 0 : POLLOUT);
    const short events = wait_for(static_cast<short>(wanted), deadline);
    if ((events & POLLOUT) != 0) {
      request.remove_prefix(send_some(request));
    }
    if ((events & (POLLIN | POLLHUP)) != 0 && !receive(deadline)) {
      throw std::runtime_error("closed with " + std::to_string(replies) +
                               " replies to come, after " + shown(unread()));
    }
  }
  return take(end);
}

std::string RawClient::read_exactly(std::size_t bytes) {
  const Deadline deadline;
  while (unread().size() < bytes) {
    if (!receive(deadline)) {
      throw std::runtime_error("closed too early: " + shown(unread()));
    }
  }
  begin_reply_anew();
  return take(bytes);
}

std::string RawClient::read_through(std::string_view ending) {
  const Deadline deadline;
  std::size_t found = 0;
  std::size_t searched = 0;
  while ((found = unread().find(ending, searched)) == std::string_view::npos) {
    searched = unread().size() - std::min(unread().size(), ending.size());
    if (!receive(deadline)) {
      throw std::runtime_error("closed too early: " + shown(unread()));
    }
  }
  return read_exactly(found + ending.size());
}

std::string RawClient::read_until_closed() {
  const Deadline deadline;
  while (receive(deadline)) {
  }
  begin_reply_anew();
  return take(unread().size());
}

std::string RawClient::call(std::initializer_list<std::string_view> arguments) {
  send(command(arguments));
  return read_reply();
}

void RawClient::finish_sending() const {
  ::shutdown(socket_, SHUT_WR);
}

bool RawClient::is_closed_by_peer() {
  pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, 0) == 1) {
    if (!receive(Deadline{})) {
      return true;
    }
  }
  return false;
}

}  // namespace cuckooguard::harness
