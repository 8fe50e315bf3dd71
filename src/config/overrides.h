// Settings from the command line. They are put over the file before it is read, so that they are
// read and judged by the same rules; what is wrong with one is reported under its flag.
//
// Threads: free function. Errors: in the Report.
#pragma once

#include <span>
#include <string>

#include "config/diagnostic.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {

struct Override {
  std::string flag;   // for messages: --listen
  std::string path;   // of the key: limits.max_clients
  std::string value;  // as in the file; in brackets, braces or quotes it is taken as YAML
};

// Later ones win.
void apply(std::span<const Override> overrides, TreeNode& root, Report& report);

}  // namespace cuckooguard::config
