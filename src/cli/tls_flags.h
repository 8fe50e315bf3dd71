// `--tls`, and with it what redis-cli has.
//
// Threads: one. Lifetimes: outlives the parsing of what it was added to.
#pragma once

#include <optional>

#include "config/config.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace cuckooguard::cli {

struct TlsFlags {
  bool is_tls = false;
  config::UpstreamTls tls;

  CLI::Option* add(CLI::App& command);  // `--tls` itself

  std::optional<config::UpstreamTls> chosen() const {
    return is_tls ? std::optional(tls) : std::nullopt;
  }
};

}  // namespace cuckooguard::cli
