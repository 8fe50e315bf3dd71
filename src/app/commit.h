// The commit that this program was built from.
//
// Threads: free function.
#pragma once

#include <string_view>

namespace cuckooguard::app {

std::string_view commit();  // "unknown" without git

}  // namespace cuckooguard::app
