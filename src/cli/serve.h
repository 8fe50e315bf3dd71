// `cuckooguard --config FILE`: the guard itself, until a signal ends it.
//
// Threads: the main thread's, and all that app::Assembly starts. Errors: std::exception if it
// cannot start (the port is taken, no memory, no descriptors).
#pragma once

#include "cli/flags.h"

namespace cuckooguard::cli {

struct Serve {
  ConfigFlags config;
  bool strict_start = false;  // what a source refuses ends the start

  int run() const;
};

}  // namespace cuckooguard::cli
