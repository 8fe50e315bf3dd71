// `cuckooguard presets`: what `absent_reply` can be, with the bytes, who reads them, where that
// framework has them, how its keys look, and what to watch out for. A name stands alone in its
// line; what belongs to it is indented.
//
// Threads: free function.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace cuckooguard::cli {

struct ListPresets {
  CLI::App& add(CLI::App& app);
  int run() const;
};

std::string list_presets();

}  // namespace cuckooguard::cli
