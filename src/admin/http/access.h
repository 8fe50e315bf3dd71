// Whether a request may be answered: by the token in a file, which is read each time, so that it
// can be replaced while the guard runs (as orchestrators do with mounted secrets).
//
// Threads: any. Errors: values. Limits: kTokenBytesMax.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace cuckooguard::http {

class BearerToken {
 public:
  static constexpr std::size_t kTokenBytesMax = 4096;

  enum class Verdict : std::uint8_t { allowed, missing, wrong, unreadable };

  // Empty: everybody is allowed.
  explicit BearerToken(std::string path) : path_(std::move(path)) {}

  // `authorization`: "Bearer TOKEN"; the scheme in any case. Takes the same time for any wrong
  // token.
  Verdict judge(std::string_view authorization) const;

  // The current token, trimmed; or why there is none.
  std::expected<std::string, std::string> read() const;

 private:
  std::string path_;
};

// The Host names that the admin server accepts: IP addresses, the name it listens on, and
// `admin.hosts`.
//
// Any page in a browser can send requests here. It may read the response only with the same origin,
// which a foreign name gets by suddenly pointing to this address (DNS rebinding). It may also POST
// blindly, but then the browser adds `Origin`. Requests with neither header are not from a browser.
//
// Threads: plain values.
class AllowedHosts {
 public:
  AllowedHosts() = default;  // IP addresses alone
  // A loopback address also allows `localhost`. A Unix socket, which no browser uses, allows all
  // names.
  AllowedHosts(const config::Address& address, std::vector<std::string> names);

  // `host` and `origin` as in the headers; empty: no such header.
  bool may_ask(std::string_view host, std::string_view origin) const;

 private:
  bool allows(std::string_view host) const;

  bool allows_all_ = false;
  std::vector<std::string> names_;
};

}  // namespace cuckooguard::http
