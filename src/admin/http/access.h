// Whether a request may be answered: by the word in a file, which is read anew each time, so that
// it can be changed while the guard runs (an orchestrator replaces mounted secrets under it).
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

  // `authorization`: "Bearer WORD"; the scheme in any case. How long it takes does not tell how
  // much of a wrong word is right.
  Verdict judge(std::string_view authorization) const;

  // The word as it is now, without white space at its ends; or why there is none.
  std::expected<std::string, std::string> read() const;

 private:
  std::string path_;
};

// Under which names the admin server may be asked: an IP address, the name that it listens on, and
// those of `admin.hosts`.
//
// A browser can be made to ask it by any page that somebody looks at. The page may not read what
// comes back, unless it has the same origin: a stranger's name that suddenly points to this address
// has (DNS rebinding). And it may POST blindly, but then the browser says from where (`Origin`).
// Programs that send neither are none of a browser's.
//
// Threads: plain values.
class AllowedHosts {
 public:
  AllowedHosts() = default;  // IP addresses alone
  // On a loopback address it is `localhost`, too. No browser comes by a Unix socket: all names are
  // allowed there.
  AllowedHosts(const config::Address& address, std::vector<std::string> names);

  // `host` and `origin` as the headers have them; empty: there is none.
  bool may_ask(std::string_view host, std::string_view origin) const;

 private:
  bool allows(std::string_view host) const;

  bool allows_all_ = false;
  std::vector<std::string> names_;
};

}  // namespace cuckooguard::http
