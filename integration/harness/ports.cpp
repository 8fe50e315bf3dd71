#include "harness/ports.h"

#include <random>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/loopback.h"

namespace cuckooguard::harness {
namespace {

constexpr std::uint16_t kFirstPort = 10'000;
constexpr std::uint16_t kLastPort = 32'000;

// A listening socket on `port`, or -1.
int listen_on(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, 1) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

int listen_anywhere(std::uint16_t& port) {
  static std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::uint16_t> ports(kFirstPort, kLastPort);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    port = ports(random);
    const int socket = listen_on(port);
    if (socket >= 0) {
      return socket;
    }
  }
  throw std::runtime_error("there is no free port");
}

}  // namespace

std::uint16_t free_port() {
  std::uint16_t port = 0;
  ::close(listen_anywhere(port));
  return port;
}

TakenPort::TakenPort() : socket_(-1), port_(0) {
  socket_ = listen_anywhere(port_);
}

TakenPort::~TakenPort() {
  ::close(socket_);
}

bool TakenPort::was_called() const {
  pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace cuckooguard::harness
