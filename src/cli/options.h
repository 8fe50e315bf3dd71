// The command line: what was asked for, as values. CLI11 prints help and usage errors itself.
//
// Threads: free functions. Errors: usage errors are printed and end with kExitUsage.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/overrides.h"

namespace cuckooguard::cli {

// As sysexits.h has them; 0 and 1 are the usual ones.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitConfiguration = 78;

struct Serve {
  std::string config_path;
  std::vector<config::Override> overrides;  // flags that say what the file would
  bool check_config = false;
  bool print_config = false;
  bool plan = false;
  bool strict_start = false;  // what a source refuses ends the start
};

// `cuckooguard filter inspect FILE`
struct InspectFilter {
  std::string path;
};

// `cuckooguard filter query FILE --secret FILE --template TEMPLATE KEY...`
struct QueryFilter {
  std::string path;
  std::string secret_path;
  std::string key_template;
  std::vector<std::string> keys;
};

// `cuckooguard triggers --config FILE [--source NAME]`
struct PrintTriggers {
  std::string config_path;
  std::string source;  // empty: the only one that follows triggers
};

// `cuckooguard presets`
struct ListPresets {};

// `--tls`, and with it what redis-cli has.
struct TlsFlags {
  bool is_tls = false;
  config::UpstreamTls tls;

  std::optional<config::UpstreamTls> chosen() const {
    return is_tls ? std::optional(tls) : std::nullopt;
  }
};

// `cuckooguard explain KEY --config FILE`, or `--address ADDRESS`
struct Explain {
  std::string key;
  std::string config_path;                 // its templates, without a guard
  std::optional<config::Address> address;  // a guard that runs
  std::string user;                        // of Redis, whom it is asked as; empty: the default one
  std::string password_file;               // empty: the password is REDISCLI_AUTH, if there is one
  TlsFlags tls;
};

// `cuckooguard --version`
struct ShowVersion {};

// `cuckooguard ping [ADDRESS]`
struct Ping {
  config::Address address{.host = "127.0.0.1", .port = 6380, .unix_path = {}};
  std::chrono::milliseconds timeout{2000};
  TlsFlags tls;
};

using Options = std::variant<Serve,
                             InspectFilter,
                             QueryFilter,
                             PrintTriggers,
                             ListPresets,
                             Explain,
                             ShowVersion,
                             Ping>;

// Nothing if the process is to end now with `exit_code` (help, a usage error; both already printed).
std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code);

}  // namespace cuckooguard::cli
