// Whose certificate is shown, and whose is believed, on the connections of one side (OpenSSL's
// SSL_CTX).
//
// Both sides: TLS 1.2 and 1.3, no renegotiation, no compression. Clients may take up a session by
// its ticket; the keys of tickets are of one TlsCredentials, so that none outlives a reload.
//
// Threads: immutable once loaded; any. Lifetimes: a connection keeps what it needs of it, so that
//   newer credentials may take its place.
// Errors: load() says in a sentence which file is wrong, and why.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

struct ssl_st;
struct ssl_ctx_st;

namespace cuckooguard::io {

struct FreeSsl {
  void operator()(ssl_st* connection) const;
  void operator()(ssl_ctx_st* context) const;
};
using TlsConnection = std::unique_ptr<ssl_st, FreeSsl>;

class TlsCredentials {
 public:
  using Loaded = std::expected<std::shared_ptr<const TlsCredentials>, std::string>;

  static Loaded load(const config::ListenTls& settings);
  static Loaded load(const config::UpstreamTls& settings);

  // Ready for its handshake but for what carries its bytes. `peer` is whom we connect to, where the
  // settings have no server_name; empty: a certificate that is verified is nobody's. Throws
  // std::bad_alloc.
  TlsConnection new_connection(const std::string& peer = {}) const;

  // Problems that do not keep it from working: a certificate that has expired, or is not valid yet.
  // One sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Of the guard's own certificate; nothing if it has none.
  struct Validity {
    std::chrono::sys_seconds from;
    std::chrono::sys_seconds until;
  };
  const std::optional<Validity>& validity() const { return validity_; }

 private:
  using Ssl = std::unique_ptr<ssl_ctx_st, FreeSsl>;
  explicit TlsCredentials(Ssl ssl) : ssl_(std::move(ssl)) {}

  // An error, or nothing.
  std::string use_certificate(const std::string& cert, const std::string& key);

  Ssl ssl_;
  bool verifies_name_ = false;  // of whom we connect to
  std::string name_;            // a host name, or an IP address; empty: the peer's
  std::vector<std::string> warnings_;
  std::optional<Validity> validity_;
};

// What new connections take, from now on; nothing: they are plain text. Any thread.
class TlsSlot {
 public:
  std::shared_ptr<const TlsCredentials> get() const {
    const std::scoped_lock lock(mutex_);
    return credentials_;
  }
  void set(std::shared_ptr<const TlsCredentials> credentials) {
    const std::scoped_lock lock(mutex_);
    credentials_ = std::move(credentials);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsCredentials> credentials_;
};

}  // namespace cuckooguard::io
