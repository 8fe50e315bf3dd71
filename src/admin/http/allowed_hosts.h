// Under which names the admin server may be asked: an IP address, the name that it listens on, and
// those of `admin.hosts`.
//
// A browser can be made to ask it by any page that somebody looks at. The page may not read what
// comes back, unless it has the same origin: a stranger's name that suddenly points to this address
// has (DNS rebinding). And it may POST blindly, but then the browser says from where (`Origin`).
// Programs that send neither are none of a browser's.
//
// Threads: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace cuckooguard::http {

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
