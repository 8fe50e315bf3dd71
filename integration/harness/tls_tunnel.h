// A plain port of 127.0.0.1 whose connections go on over TLS: so that tests in plain bytes are
// tests of TLS as well. OpenSSL with blocking threads, and none of the product's code.
//
//   RawClient ── plain ── TlsTunnel ══ TLS ══ guard
//
// An end of one direction is handed on as such (close_notify), and so is the end of both.
// Threads: two per connection; construct and destroy from one. Errors: std::runtime_error when it
// is made; a connection that cannot be made is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <openssl/types.h>

namespace cuckooguard::harness {

class TlsTunnel {
 public:
  // `authority`: a file; whoever it has not signed is not spoken to.
  TlsTunnel(std::uint16_t to_port, const std::filesystem::path& authority);
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  void accept_all();
  void carry(int client) const;

  struct Free {
    void operator()(SSL_CTX* settings) const;
  };
  std::uint16_t to_port_;
  std::uint16_t port_ = 0;
  int listening_;
  std::unique_ptr<SSL_CTX, Free> settings_;
  std::atomic<bool> is_ending_{false};
  std::vector<std::thread> carriers_;
  std::thread acceptor_;
};

}  // namespace cuckooguard::harness
