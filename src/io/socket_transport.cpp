#include "io/socket_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cuckooguard::io {
namespace {

// Of connections that the guard makes: the next command must not be what finds out.
constexpr KeepAlive kToServers{.idle = std::chrono::seconds(15),
                               .interval = std::chrono::seconds(1)};

std::uint32_t events_of(Interest interest) {
  switch (interest) {
    case Interest::read:
      return EPOLLIN;
    case Interest::write:
      return EPOLLOUT;
    case Interest::both:
      return EPOLLIN | EPOLLOUT;
    case Interest::none:
      break;
  }
  // Errors and hang-ups are always reported; edge-triggered they are reported once instead of for
  // ever.
  return EPOLLET | EPOLLRDHUP;
}

}  // namespace

std::string local_host(int socket) {
  SocketAddress own{.length = sizeof(sockaddr_storage)};
  auto* const address = reinterpret_cast<sockaddr*>(&own.storage);
  std::array<char, NI_MAXHOST> text{};
  if (::getsockname(socket, address, &own.length) != 0 ||
      ::getnameinfo(address, own.length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) !=
          0) {
    return {};
  }
  const std::string_view host(text.data());
  constexpr std::string_view kOfIpv4 = "::ffff:";
  const bool is_ipv4 = host.starts_with(kOfIpv4) && host.contains('.');
  return std::string(is_ipv4 ? host.substr(kOfIpv4.size()) : host.substr(0, host.find('%')));
}

text::Network peer_network(int socket) {
  SocketAddress peer{.length = sizeof(sockaddr_storage)};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer.storage), &peer.length) != 0) {
    return {};
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&peer.storage);
  switch (peer.storage.ss_family) {
    case AF_INET:
      return text::Network::of_ipv4(
          std::span<const unsigned char, 4>(bytes + offsetof(sockaddr_in, sin_addr), 4));
    case AF_INET6:
      return text::Network::of_ipv6(
          std::span<const unsigned char, 16>(bytes + offsetof(sockaddr_in6, sin6_addr), 16));
    default:
      return {};
  }
}

std::error_code prepare_socket(int socket, const KeepAlive& keep_alive) {
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0 || ::fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0 ||
      ::fcntl(socket, F_SETFD, FD_CLOEXEC) < 0) {
    return {errno, std::system_category()};
  }
  // A unix socket refuses all of these: fine.
  const auto set = [socket](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(keep_alive.idle.count()));
  set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(keep_alive.interval.count()));
  set(IPPROTO_TCP, TCP_KEEPCNT, keep_alive.probes);
  return {};
}

SocketTransport::SocketTransport(int epoll, int socket)
    : epoll_(epoll), socket_(socket), state_(socket < 0 ? State::resolving : State::up) {}

SocketTransport::~SocketTransport() {
  SocketTransport::close();
}

void SocketTransport::watch(Interest interest) {
  if (interest == interest_ && in_epoll_) {
    return;
  }
  interest_ = interest;
  if (state_ == State::up) {
    enter_epoll(events_of(interest));
  }
}

Transfer SocketTransport::failed_transfer() {
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    return {Status::would_block, 0};
  }
  last_error_ = errno;
  return {Status::failed, 0};
}

Transfer SocketTransport::read(std::span<char> into) {
  if (state_ != State::up) {
    return {Status::would_block, 0};
  }
  const ssize_t got = ::recv(socket_, into.data(), into.size(), 0);
  if (got > 0) {
    return {Status::ok, static_cast<std::size_t>(got)};
  }
  return got == 0 ? Transfer{Status::closed, 0} : failed_transfer();
}

Transfer SocketTransport::write(std::span<const std::string_view> pieces) {
  if (state_ != State::up) {
    return {Status::would_block, 0};
  }
  const auto transferred = [this](ssize_t sent) {
    return sent >= 0 ? Transfer{Status::ok, static_cast<std::size_t>(sent)} : failed_transfer();
  };
  if (pieces.size() == 1) {  // as nearly always, and send() is the quicker one
    return transferred(::send(socket_, pieces[0].data(), pieces[0].size(), MSG_NOSIGNAL));
  }
  std::array<iovec, kPiecesMax> vectors;
  const std::size_t count = std::min(pieces.size(), vectors.size());
  for (std::size_t i = 0; i < count; ++i) {
    // iovec serves reads too and so has no const; sendmsg does not write through it.
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  return transferred(::sendmsg(socket_, &message, MSG_NOSIGNAL));
}

void SocketTransport::finish_writing() {
  if (state_ == State::up) {
    ::shutdown(socket_, SHUT_WR);
  }
}

// tcp(7), TCP_INFO. A window that is closed is asked about by probes, each of which is answered by
// whoever is there; TCP_USER_TIMEOUT would end such a connection, too.
std::optional<std::chrono::milliseconds> SocketTransport::unheard_for() const {
  constexpr std::uint8_t kProbesInVain = 2;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (state_ != State::up || ::getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      (info.tcpi_unacked == 0 && info.tcpi_probes < kProbesInVain)) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(info.tcpi_last_ack_recv);
}

std::weak_ptr<SocketTransport*> SocketTransport::weak_self() {
  if (!self_) {
    self_ = std::make_shared<SocketTransport*>(this);
  }
  return self_;
}

void SocketTransport::close() {
  self_.reset();
  state_ = State::closed;
  if (socket_ >= 0) {
    leave_epoll();  // closing it is not enough while a child that was just forked has it, too
    ::close(socket_);
    socket_ = -1;
  }
}

int SocketTransport::release() {
  leave_epoll();
  const int socket = std::exchange(socket_, -1);
  close();
  return socket;
}

std::string SocketTransport::why_ended() const {
  if (last_error_ != 0) {
    return std::generic_category().message(last_error_);
  }
  if (state_ == State::connecting) {
    return std::generic_category().message(ETIMEDOUT);
  }
  if (state_ == State::resolving) {
    return is_name_unknown_ ? ::gai_strerror(EAI_NONAME) : "the look-up of its name timed out";
  }
  return "Server closed the connection";
}

bool SocketTransport::connect(std::vector<SocketAddress> addresses) {
  is_name_unknown_ = addresses.empty();
  untried_ = std::move(addresses);
  std::reverse(untried_.begin(), untried_.end());
  if (state_ != State::resolving || try_next_address()) {
    return true;
  }
  if (is_backlog_full()) {
    return false;
  }
  deliver_failure();
  return true;
}

// connect(2): EAGAIN is a Unix socket's; on TCP the kernel goes on asking by itself.
bool SocketTransport::is_backlog_full() const {
  return last_error_ == EAGAIN;
}

bool SocketTransport::try_next_address() {
  while (!untried_.empty()) {
    const SocketAddress address = untried_.back();
    untried_.pop_back();
    leave_epoll();
    if (socket_ >= 0) {
      ::close(socket_);
    }
    socket_ = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) {
      last_error_ = errno;
      continue;
    }
    (void)prepare_socket(socket_, kToServers);  // what could fail in it, socket() has set already
    const auto* const target = reinterpret_cast<const sockaddr*>(&address.storage);
    if (::connect(socket_, target, address.length) == 0 || errno == EINPROGRESS) {
      state_ = State::connecting;
      last_error_ = 0;
      enter_epoll(EPOLLOUT);
      return true;
    }
    last_error_ = errno;
  }
  return false;
}

void SocketTransport::on_connect_result() {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0) {
    state_ = State::up;
    enter_epoll(events_of(interest_));
    watcher_->on_ready({.writable = true});
    return;
  }
  last_error_ = error;
  if (!try_next_address()) {
    deliver_failure();
  }
}

void SocketTransport::deliver(std::uint32_t events) {
  if (state_ == State::connecting) {
    on_connect_result();
  } else if (state_ == State::up) {
    watcher_->on_ready({.readable = (events & EPOLLIN) != 0,
                        .writable = (events & EPOLLOUT) != 0,
                        .hung_up = (events & (EPOLLHUP | EPOLLERR)) != 0,
                        .has_finished = (events & EPOLLRDHUP) != 0});
  }
}

void SocketTransport::deliver_failure() {
  if (state_ != State::closed) {
    watcher_->on_ready({.hung_up = true});
  }
}

void SocketTransport::enter_epoll(std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = this;
  ::epoll_ctl(epoll_, in_epoll_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket_, &event);
  in_epoll_ = true;
}

void SocketTransport::leave_epoll() {
  if (in_epoll_) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket_, nullptr);
    in_epoll_ = false;
  }
}

}  // namespace cuckooguard::io
