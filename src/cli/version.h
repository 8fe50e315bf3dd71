// `cuckooguard --version`: what this program was built from, how, and with which libraries; of a
// shared library the version that is loaded. One `name: value` per line behind the first.
//
// Threads: free function.
#pragma once

#include <string>

namespace cuckooguard::cli {

struct ShowVersion {
  int run() const;
};

std::string version_text();

}  // namespace cuckooguard::cli
