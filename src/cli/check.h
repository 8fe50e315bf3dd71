// `cuckooguard check`: what is wrong with a configuration, as far as it and the files that it names
// can tell.
//
// Threads: the main thread's; nobody is asked.
#pragma once

#include "cli/flags.h"

namespace cuckooguard::cli {

struct Check {
  ConfigFlags config;

  CLI::App& add(CLI::App& app);
  int run() const;
};

}  // namespace cuckooguard::cli
