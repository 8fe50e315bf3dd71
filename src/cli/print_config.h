// `cuckooguard --print-config`: the settings in force, as YAML that can be used as a configuration, each with its origin.
//
// Threads: free function.
#pragma once

#include <string>

#include "config/config_file.h"

namespace cuckooguard::cli {

std::string print_config(const config::EffectiveConfig& effective, const std::string& path);

}  // namespace cuckooguard::cli
