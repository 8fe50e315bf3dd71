#include "harness/tls_tunnel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/loopback.h"

namespace cuckooguard::harness {
namespace {

constexpr int kLookEveryMs = 50;  // for the end of the tunnel
constexpr std::size_t kPieceBytes = 16 * 1024;

void make_prompt(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

// One connection, both ways, until both have ended or one is broken.
class Carrier {
 public:
  Carrier(int plain, int encrypted, SSL* ssl) : plain_(plain), encrypted_(encrypted), ssl_(ssl) {}

  void run(const std::atomic<bool>& is_ending) {
    while (!is_broken_ && !is_ending && !(plain_ended_ && tls_ended_)) {
      // Each takes its turn, also behind one that has moved something.
      const std::array moved{take_plain(), give_tls(), take_tls(), give_plain()};
      if (std::ranges::count(moved, true) == 0 && !is_broken_) {
        wait();
      }
    }
  }

 private:
  bool take_plain() {
    if (plain_ended_ || !to_tls_.empty()) {
      return false;
    }
    to_tls_.resize(kPieceBytes);
    const ssize_t bytes = ::recv(plain_, to_tls_.data(), to_tls_.size(), 0);
    to_tls_.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    if (bytes == 0) {
      plain_ended_ = true;
      SSL_shutdown(ssl_);
      ::shutdown(encrypted_, SHUT_WR);
    }
    return bytes >= 0 || breaks(errno != EAGAIN);
  }

  bool give_tls() {
    std::size_t written = 0;
    if (to_tls_.empty()) {
      return false;
    }
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_, to_tls_.data(), to_tls_.size(), &written);
    to_tls_.erase(0, written);
    return result == 1 || breaks(!goes_on(result));
  }

  bool take_tls() {
    if (tls_ended_ || !to_plain_.empty()) {
      return false;
    }
    to_plain_.resize(kPieceBytes);
    std::size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, to_plain_.data(), to_plain_.size(), &bytes);
    to_plain_.resize(bytes);
    if (result != 1 && SSL_get_error(ssl_, result) == SSL_ERROR_ZERO_RETURN) {
      tls_ended_ = true;
      ::shutdown(plain_, SHUT_WR);
      return true;
    }
    return result == 1 || breaks(!goes_on(result));
  }

  bool give_plain() {
    if (to_plain_.empty()) {
      return false;
    }
    const ssize_t bytes = ::send(plain_, to_plain_.data(), to_plain_.size(), MSG_NOSIGNAL);
    to_plain_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return bytes > 0 || breaks(errno != EAGAIN);
  }

  void wait() const {
    const auto events = [](bool reads, bool writes) {
      return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    };
    std::array<pollfd, 2> ends{
        pollfd{.fd = plain_,
               .events = events(!plain_ended_ && to_tls_.empty(), !to_plain_.empty()),
               .revents = 0},
        pollfd{.fd = encrypted_,
               .events = events(!tls_ended_ && to_plain_.empty(), !to_tls_.empty()),
               .revents = 0}};
    ::poll(ends.data(), ends.size(), kLookEveryMs);
  }

  bool goes_on(int result) const {
    const int error = SSL_get_error(ssl_, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }
  bool breaks(bool is_broken) {
    is_broken_ = is_broken_ || is_broken;
    return false;
  }

  int plain_;
  int encrypted_;
  SSL* ssl_;
  std::string to_tls_;
  std::string to_plain_;
  bool plain_ended_ = false;
  bool tls_ended_ = false;
  bool is_broken_ = false;
};

}  // namespace

void TlsTunnel::Free::operator()(SSL_CTX* settings) const {
  SSL_CTX_free(settings);
}

TlsTunnel::TlsTunnel(std::uint16_t to_port, const std::filesystem::path& authority)
    : to_port_(to_port),
      listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      settings_(SSL_CTX_new(TLS_client_method())) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening_, raw, size) != 0 || ::listen(listening_, SOMAXCONN) != 0 ||
      ::getsockname(listening_, raw, &size) != 0 ||
      SSL_CTX_load_verify_file(settings_.get(), authority.c_str()) != 1) {
    throw std::runtime_error("no TLS tunnel");
  }
  port_ = ntohs(address.sin_port);
  SSL_CTX_set_verify(settings_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(settings_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(settings_.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  acceptor_ = std::thread([this] { accept_all(); });
}

TlsTunnel::~TlsTunnel() {
  is_ending_ = true;
  acceptor_.join();
  for (std::thread& carrier : carriers_) {
    carrier.join();
  }
  ::close(listening_);
}

void TlsTunnel::accept_all() {
  // A write to a closed connection is an error of that write; the carriers inherit the mask.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (!is_ending_) {
    pollfd ready{.fd = listening_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kLookEveryMs) == 1) {
      const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      carriers_.emplace_back([this, client] { carry(client); });
    }
  }
}

void TlsTunnel::carry(int client) const {
  const int encrypted = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(to_port_);
  SSL* const ssl = SSL_new(settings_.get());
  SSL_set_fd(ssl, encrypted);
  if (::connect(encrypted, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      SSL_connect(ssl) == 1) {
    make_prompt(client);
    make_prompt(encrypted);
    Carrier(client, encrypted, ssl).run(is_ending_);
  }
  SSL_free(ssl);
  ::close(encrypted);
  ::close(client);
}

}  // namespace cuckooguard::harness
