// Which configuration a command works with: a file, and the flags that stand above it.
//
// Threads: one. Lifetimes: outlives the parsing of what it was added to.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "config/config_file.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace cuckooguard::cli {

struct ConfigFlags {
  std::string path;
  std::vector<config::Override> overrides;

  CLI::Option* add_file(CLI::App& command);
  void add_overrides(CLI::App& command);

  std::expected<config::EffectiveConfig, std::vector<config::Diagnostic>> load() const {
    return config::load_effective(path, config::process_environment(), overrides);
  }
};

}  // namespace cuckooguard::cli
