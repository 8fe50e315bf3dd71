// `cuckooguard explain KEY`: what a Redis key is to the guard. By a configuration: its namespace,
// template and identity, or where the nearest template ceases to fit. By a guard that runs:
// GUARD.EXPLAIN, as a user of Redis: with the password in a file, or that of REDISCLI_AUTH, as
// redis-cli takes it.
//
// Threads: the main thread's. Errors: a sentence; only run() prints.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "cli/flags.h"
#include "config/config.h"

namespace cuckooguard::cli {

// `cuckooguard explain KEY --config FILE`, or `--address ADDRESS`
struct Explain {
  std::string key;
  std::string config_path;                 // its templates, without a guard
  std::optional<config::Address> address;  // a guard that runs
  std::string user;                        // of Redis, whom it is asked as; empty: the default one
  std::string password_file;               // empty: the password is REDISCLI_AUTH, if there is one
  TlsFlags tls;

  CLI::App& add(CLI::App& app);
  int run() const;
};

// One `name: value` per line.
std::string explain_key(const config::Config& config, std::string_view key);

struct AskedGuard {
  config::Address address;
  std::chrono::milliseconds timeout{2000};
  std::string user{};           // empty: the default one
  std::string password_file{};  // its first line is the password
  std::string password{};       // if there is no such file; empty, and no user: no AUTH
  std::optional<config::UpstreamTls> tls{};
};

std::expected<std::string, std::string> explain_key(const AskedGuard& guard, std::string_view key);

}  // namespace cuckooguard::cli
