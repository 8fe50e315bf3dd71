// Flags that several commands have: which configuration is meant, an address, TLS, and a login.
//
// Threads: one. Lifetimes: they outlive the parsing of what they were added to.
#pragma once

#include <array>
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

// As whom Redis is asked.
struct Login {
  std::string user{};           // empty: the default one
  std::string password_file{};  // its first line is the password
  std::string password{};       // if there is no such file; empty, and no user: no AUTH

  // `--user`, which is to say `what`, and `--password-file`.
  std::array<CLI::Option*, 2> add(CLI::App& command, const char* what);
  // With the password of REDISCLI_AUTH, as redis-cli takes it.
  Login with_environment() const;
  // AUTH and its arguments; nothing: it is not needed.
  std::expected<std::vector<std::string>, std::string> words() const;
};

}  // namespace cuckooguard::cli
