// `cuckooguard print-config`: the settings in force, as YAML that can be used as a configuration, each with its origin.
//
// Threads: the main thread's.
#pragma once

#include <string>

#include "cli/config_flags.h"

namespace cuckooguard::cli {

struct PrintConfig {
  ConfigFlags config;

  CLI::App& add(CLI::App& app);
  int run() const;
};

std::string print_config(const config::EffectiveConfig& effective, const std::string& path);

}  // namespace cuckooguard::cli
