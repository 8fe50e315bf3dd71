// Certificates for tests, made when they run: an authority, and what it has signed.
//
// Threads: any. Errors: std::runtime_error. Limits: keys are P-256, unless RSA is asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <openssl/types.h>

namespace cuckooguard::harness {

struct Certificate {  // PEM
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  explicit Authority(const std::string& name);

  std::string certificate() const;  // PEM

  struct Wish {
    std::string alternative_names = "DNS:localhost,IP:127.0.0.1";  // as openssl's subjectAltName
    std::chrono::hours expires_in{24};  // from now; it may be in the past
    bool is_rsa = false;
  };
  Certificate issue(const std::string& name, const Wish& wish) const;
  Certificate issue(const std::string& name) const { return issue(name, Wish{}); }

 private:
  struct Free {
    void operator()(X509* certificate) const;
    void operator()(EVP_PKEY* key) const;
  };
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> certificate_;
};

// ca.crt, server.crt, server.key, client.crt, client.key of an authority of their own, as files in
// a folder.
void write_certificates(const std::filesystem::path& folder);
// With which a redis-server speaks TLS on that port, by those in the folder. Whether clients need
// one: yes, no, optional.
std::vector<std::string> redis_tls_arguments(const std::filesystem::path& folder,
                                             std::uint16_t port,
                                             const std::string& asks_clients);

}  // namespace cuckooguard::harness
