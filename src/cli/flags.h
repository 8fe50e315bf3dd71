// Flags that several commands have: which configuration is meant, an address, and TLS.
//
// Threads: one. Lifetimes: they outlive the parsing of what they were added to.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "config/config_file.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace cuckooguard::cli {

// A configuration: its file, and what stands above it.
struct ConfigFlags {
  std::string path;
  std::vector<config::Override> overrides;

  CLI::Option* add_file(CLI::App& command);
  void add_overrides(CLI::App& command);
  // With both, the file required.
  CLI::App& add_subcommand(CLI::App& app, const char* name, const char* what);

  std::expected<config::EffectiveConfig, std::vector<config::Diagnostic>> load(
      const config::Built& built) const {
    return config::load_effective(path, config::process_environment(), overrides, built);
  }
};

CLI::Option* add_address(CLI::App& command,
                         const char* flag,
                         std::optional<config::Address>& address,
                         const char* what);

// `--tls`, and with it what redis-cli has.
struct TlsFlags {
  bool is_tls = false;
  config::UpstreamTls tls;

  // `--tls` itself. Where `--key` is Redis's, the certificate's has another name.
  CLI::Option* add(CLI::App& command, const char* key_flag = "--key");

  std::optional<config::UpstreamTls> chosen() const {
    return is_tls ? std::optional(tls) : std::nullopt;
  }
};

}  // namespace cuckooguard::cli
