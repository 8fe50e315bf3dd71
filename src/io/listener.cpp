#include "io/listener.h"

#include <cstring>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cuckooguard::io {
namespace {

namespace asio = boost::asio;

asio::generic::stream_protocol::endpoint endpoint_of(asio::io_context& io,
                                                     const config::Address& address) {
  if (address.is_unix()) {
    return {asio::local::stream_protocol::endpoint(address.unix_path)};
  }
  asio::ip::tcp::resolver resolver(io);
  const auto found = resolver.resolve(
      address.host, std::to_string(address.port), asio::ip::tcp::resolver::passive);
  return {found.begin()->endpoint()};
}

// A socket file that a crash has left behind is in the way; one that somebody answers on is not
// ours to remove.
void remove_stale_socket(asio::io_context& io, const std::string& path) {
  asio::local::stream_protocol::socket probe(io);
  boost::system::error_code error;
  (void)probe.connect(asio::local::stream_protocol::endpoint(path), error);
  if (error == asio::error::connection_refused) {
    ::unlink(path.c_str());
  }
}

// An empty one of an abstract socket, or of none.
std::string unix_path_of(int socket) {
  sockaddr_un bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0 ||
      bound.sun_family != AF_UNIX) {
    return {};
  }
  return {&bound.sun_path[0], ::strnlen(&bound.sun_path[0], sizeof bound.sun_path)};
}

int family_of(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  return bound.ss_family;
}

}  // namespace

bool Listener::listens_on(int socket, const config::Address& address) {
  if (address.is_unix()) {
    return unix_path_of(socket) == address.unix_path;
  }
  asio::io_context io;
  const auto wanted = endpoint_of(io, address);
  Protocol::endpoint bound;
  auto length = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(socket, bound.data(), &length) != 0) {
    return false;
  }
  bound.resize(length);
  return bound == wanted;
}

Listener::Listener(asio::io_context& io, const config::Address& address, Calls calls, int inherited)
    : acceptor_(io), pause_(io), calls_(std::move(calls)), is_inherited_(inherited >= 0) {
  if (is_inherited_) {
    acceptor_.assign(Protocol(family_of(inherited), 0), inherited);
  } else {
    bind(io, address);
  }
  accept_next();
}

void Listener::bind(asio::io_context& io, const config::Address& address) {
  unix_path_ = address.unix_path;
  if (address.is_unix()) {
    remove_stale_socket(io, unix_path_);
  }
  // Asio's exceptions are Boost's own; whoever starts the product catches the standard's.
  try {
    const auto endpoint = endpoint_of(io, address);
    acceptor_.open(endpoint.protocol());
    if (!address.is_unix()) {
      acceptor_.set_option(asio::socket_base::reuse_address(true));
    }
    acceptor_.bind(endpoint);
    acceptor_.listen();
  } catch (const boost::system::system_error& failure) {
    unix_path_.clear();  // somebody else's
    throw std::system_error(failure.code(), "cannot listen on " + address.text());
  }
}

Listener::~Listener() {
  let_go();
}

void Listener::close() {
  accept_waiting();
  let_go();
}

void Listener::accept_waiting() {
  while (acceptor_.is_open() && !is_inherited_) {
    const int socket = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      return;
    }
    calls_.on_accept(socket);
  }
}

void Listener::let_go() {
  if (!acceptor_.is_open()) {
    return;
  }
  boost::system::error_code ignored;
  (void)acceptor_.close(ignored);
  pause_.cancel();
  if (!unix_path_.empty()) {
    ::unlink(unix_path_.c_str());
  }
}

std::uint16_t Listener::port() const {
  asio::ip::tcp::endpoint local;
  const auto bound = acceptor_.local_endpoint();
  std::memcpy(local.data(), bound.data(), std::min(bound.size(), local.capacity()));
  return local.port();
}

void Listener::accept_next() {
  acceptor_.async_accept(
      [this](const boost::system::error_code& error, asio::basic_stream_socket<Protocol> socket) {
        if (!error) {
          calls_.on_accept(socket.release());
          accept_next();
        } else if (acceptor_.is_open()) {
          failed(error);
        }
      });
}

void Listener::failed(std::error_code error) {
  const TimePoint now = now_since_boot();
  if (!told_ || now - *told_ >= kTellEvery) {
    told_ = now;
    calls_.on_failure(error);
  }
  pause_.expires_after(kPauseAfterFailure);
  pause_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      accept_next();
    }
  });
}

}  // namespace cuckooguard::io
