// `cuckooguard triggers`: the SQL by which a SQLite database logs what changes in its guarded tables.
//
// Threads: the main thread's; the database is only read. Errors: a sentence, or several, each on a
// line; only run() prints.
#pragma once

#include <expected>
#include <string>

#include "config/config.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace cuckooguard::cli {

// `cuckooguard triggers --config FILE [--source NAME]`
struct PrintTriggers {
  std::string config_path;
  std::string source;  // empty: the only one that follows triggers

  CLI::App& add(CLI::App& app);
  int run() const;
};

// Of the source of this name; if that is empty, of the one source that follows triggers. Only what the database does
// not have yet.
std::expected<std::string, std::string> print_triggers(const config::Config& config,
                                                       const std::string& source);

}  // namespace cuckooguard::cli
