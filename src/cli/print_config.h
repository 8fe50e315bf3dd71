// `cuckooguard print-config`: the settings in force, as YAML that can be used as a configuration,
// each with its origin.
//
// Threads: the main thread's.
#pragma once

#include "cli/flags.h"

namespace cuckooguard::cli {

struct PrintConfig {
  ConfigFlags config;

  CLI::App& add(CLI::App& app);
  int run() const;
};

}  // namespace cuckooguard::cli
