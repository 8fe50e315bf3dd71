// `cuckooguard --version`: what this program was built from, how, and with which libraries; of a shared library the version that is
// loaded. One `name: value` per line behind the first.
//
// Threads: free functions.
#pragma once

#include <string>
#include <string_view>

namespace cuckooguard::cli {

std::string_view commit();  // of the source; "unknown" without git

std::string version_text();

}  // namespace cuckooguard::cli
