// Flags that several commands have: which configuration is meant, an address, TLS, and a login.
//
// Threads: one. Lifetimes: they outlive the parsing of what they were added to.
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/parser.h"
#include "config/config_file.h"
#include "config/values.h"

namespace cuckooguard::cli {

// A configuration: its file, and what stands above it.
struct ConfigFlags {
  std::string path;
  std::vector<config::Override> overrides;

  Option add_file(Parser command);
  void add_overrides(Parser command);
  // With both, the file required.
  Parser add_subcommand(Parser app, const char* name, const char* what);

  std::expected<config::EffectiveConfig, std::vector<config::Diagnostic>> load(
      const config::Built& built) const {
    return config::load_effective(path, config::process_environment(), overrides, built);
  }
};

// A source of a configuration.
struct SourceFlags {
  std::string config_path;
  std::string name{};  // empty: the only one that fits

  Parser add(Parser command);
  // The configuration; a sentence if it cannot be used.
  std::expected<config::Config, std::string> load(const config::Built& built) const;
  // Which one is meant; `what` they are, such as "of type file".
  std::expected<const config::Source*, std::string> choose(
      const config::Config& config,
      std::string_view what,
      bool (*fits)(const config::Source&)) const;
};

// A value as the configuration has it, by the configuration's own reader.
template <typename Value, typename Parsed>
Parser::Take into(Value& value, config::Parsed<Parsed> (*parse)(std::string_view)) {
  return [&value, parse](const std::string& text) -> Taken {
    auto parsed = parse(text);
    if (!parsed) {
      return std::unexpected(config::shown(text) + " " + parsed.error());
    }
    value = *std::move(parsed);
    return {};
  };
}

// `--tls`, and with it what redis-cli has.
struct TlsFlags {
  bool is_tls = false;
  config::UpstreamTls tls;

  // `--tls` itself. Where `--key` is Redis's, the certificate's has another name.
  Option add(Parser command, const char* key_flag = "--key");

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
  std::array<Option, 2> add(Parser command, const char* what);
  // With the password of REDISCLI_AUTH, as redis-cli takes it.
  Login with_environment() const;
  // AUTH and its arguments; nothing: it is not needed.
  std::expected<std::vector<std::string>, std::string> words() const;
};

}  // namespace cuckooguard::cli
