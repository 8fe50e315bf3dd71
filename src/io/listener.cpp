#include "io/listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cuckooguard::io {
namespace {

namespace asio = boost::asio;

using Endpoint = asio::generic::stream_protocol::endpoint;

// Each once. Blocks.
std::vector<Endpoint> endpoints_of(asio::io_context& io, const config::Address& address) {
  if (address.is_unix()) {
    return {asio::local::stream_protocol::endpoint(address.unix_path)};
  }
  asio::ip::tcp::resolver resolver(io);
  std::vector<Endpoint> endpoints;
  for (const auto& found : resolver.resolve(
           address.host, std::to_string(address.port), asio::ip::tcp::resolver::passive)) {
    if (std::ranges::find(endpoints, Endpoint(found.endpoint())) == endpoints.end()) {
      endpoints.emplace_back(found.endpoint());
    }
  }
  return endpoints;
}

asio::ip::tcp::endpoint tcp_endpoint(const Endpoint& endpoint) {
  asio::ip::tcp::endpoint tcp;
  std::memcpy(tcp.data(), endpoint.data(), std::min(endpoint.size(), tcp.capacity()));
  return tcp;
}

bool is_not_here(const boost::system::error_code& error) {
  return error == asio::error::address_family_not_supported ||
         error == boost::system::errc::address_not_available;
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

void give(const std::string& path, const SocketFile& file) {
  const auto throw_unless = [&](bool is_done, int error, const std::string& what) {
    if (!is_done) {
      throw std::system_error(
          error, std::generic_category(), "cannot listen on unix:" + path + ": " + what);
    }
  };
  if (!file.group.empty()) {
    constexpr std::size_t kMost = std::size_t{1} << 20U;
    std::vector<char> names(kMost);
    group entry{};
    group* found = nullptr;
    const int error = ::getgrnam_r(file.group.c_str(), &entry, names.data(), names.size(), &found);
    throw_unless(found != nullptr, error == 0 ? ENOENT : error, "group " + file.group);
    throw_unless(::chown(path.c_str(), static_cast<uid_t>(-1), entry.gr_gid) == 0,
                 errno,
                 "cannot change the group of its file to " + file.group);
  }
  if (file.mode) {
    throw_unless(::chmod(path.c_str(), *file.mode) == 0, errno, "the mode of its file");
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
  Endpoint bound;
  auto length = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(socket, bound.data(), &length) != 0) {
    return false;
  }
  bound.resize(length);
  const std::vector<Endpoint> wanted = endpoints_of(io, address);
  return std::ranges::find(wanted, bound) != wanted.end();
}

Listener::Listener(asio::io_context& io,
                   const config::Address& address,
                   Calls calls,
                   const std::vector<int>& inherited,
                   const SocketFile& file)
    : calls_(std::move(calls)), is_inherited_(!inherited.empty()) {
  for (const int socket : inherited) {
    acceptors_.push_back(std::make_shared<Acceptor>(io, *this));
    acceptors_.back()->socket.assign(Protocol(family_of(socket), 0), socket);
  }
  // Asio's exceptions are Boost's own; whoever starts the product catches the standard's.
  try {
    if (!is_inherited_ && address.is_unix()) {
      bind_file(io, address, file);
    } else if (!is_inherited_) {
      bind(io, address);
    }
  } catch (const boost::system::system_error& failure) {
    throw std::system_error(failure.code(), "cannot listen on " + address.text());
  }
  for (const auto& acceptor : acceptors_) {
    accept_next(acceptor);
  }
}

// All on the port that the first one has got.
void Listener::bind(asio::io_context& io, const config::Address& address) {
  boost::system::error_code missing;
  std::uint16_t port = address.port;
  for (const Endpoint& endpoint : endpoints_of(io, address)) {
    auto tcp = tcp_endpoint(endpoint);
    tcp.port(port);
    auto acceptor = std::make_shared<Acceptor>(io, *this);
    (void)acceptor->socket.open(tcp.protocol(), missing);
    if (!missing) {
      acceptor->socket.set_option(asio::socket_base::reuse_address(true));
      (void)acceptor->socket.bind(tcp, missing);
    }
    if (missing && !is_not_here(missing)) {
      throw boost::system::system_error(missing);
    }
    if (!missing) {
      acceptor->socket.listen();
      port = tcp_endpoint(acceptor->socket.local_endpoint()).port();
      acceptors_.push_back(std::move(acceptor));
    }
  }
  if (acceptors_.empty()) {
    throw boost::system::system_error(missing);
  }
}

// Nobody connects before it listens: by then the file is as it is to be.
void Listener::bind_file(asio::io_context& io,
                         const config::Address& address,
                         const SocketFile& file) {
  const std::string& path = address.unix_path;
  remove_stale_socket(io, path);
  auto acceptor = std::make_shared<Acceptor>(io, *this);
  const asio::local::stream_protocol::endpoint endpoint(path);
  acceptor->socket.open(endpoint.protocol());
  acceptor->socket.bind(endpoint);
  unix_path_ = path;  // ours from here on
  try {
    give(path, file);
    acceptor->socket.listen();
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  acceptors_.push_back(std::move(acceptor));
}

Listener::~Listener() {
  let_go();
  for (const auto& acceptor : acceptors_) {
    acceptor->listener = nullptr;
  }
}

void Listener::close() {
  for (const auto& acceptor : acceptors_) {
    accept_waiting(*acceptor);
  }
  let_go();
}

void Listener::accept_waiting(Acceptor& acceptor) const {
  while (acceptor.socket.is_open() && !is_inherited_) {
    const int socket = ::accept4(acceptor.socket.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      return;
    }
    calls_.on_accept(socket);
  }
}

void Listener::let_go() {
  for (const auto& acceptor : acceptors_) {
    boost::system::error_code ignored;
    (void)acceptor->socket.close(ignored);
    acceptor->pause.cancel();
  }
  if (!unix_path_.empty()) {
    ::unlink(std::exchange(unix_path_, {}).c_str());
  }
}

std::vector<config::Address> Listener::addresses() const {
  std::vector<config::Address> all;
  for (const auto& acceptor : acceptors_) {
    if (std::string path = unix_path_of(acceptor->socket.native_handle()); !path.empty()) {
      all.push_back({.unix_path = std::move(path)});
    } else {
      const auto bound = tcp_endpoint(acceptor->socket.local_endpoint());
      all.push_back({.host = bound.address().to_string(), .port = bound.port()});
    }
  }
  return all;
}

void Listener::accept_next(const std::shared_ptr<Acceptor>& acceptor) {
  acceptor->socket.async_accept([acceptor](const boost::system::error_code& error,
                                           asio::basic_stream_socket<Protocol> socket) {
    if (acceptor->listener == nullptr) {
      return;
    }
    if (!error) {
      acceptor->listener->calls_.on_accept(socket.release());
      accept_next(acceptor);
    } else if (acceptor->socket.is_open()) {
      acceptor->listener->failed(acceptor, error);
    }
  });
}

void Listener::failed(const std::shared_ptr<Acceptor>& acceptor, std::error_code error) {
  const TimePoint now = now_since_boot();
  if (!told_ || now - *told_ >= kTellEvery) {
    told_ = now;
    calls_.on_failure(error);
  }
  acceptor->pause.expires_after(kPauseAfterFailure);
  acceptor->pause.async_wait([acceptor](const boost::system::error_code& cancelled) {
    if (!cancelled && acceptor->listener != nullptr) {
      accept_next(acceptor);
    }
  });
}

}  // namespace cuckooguard::io
