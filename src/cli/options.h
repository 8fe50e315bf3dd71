// The command line: what was asked for, as values. CLI11 prints help, version and usage errors itself.
#pragma once

#include <optional>
#include <string>

namespace cuckooguard::cli {

// As sysexits.h has them; 0 and 1 are the usual ones.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitConfiguration = 78;

struct Options {
  std::string config_path;
  bool check_config = false;
};

// Nothing if the process is to end now with `exit_code` (help, version, a usage error; all already printed).
std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code);

}  // namespace cuckooguard::cli
