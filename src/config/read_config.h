// The whole configuration, from its tree. The tables of settings (section_table.h) begin here: a
// new key is a row in one of them.
//
// Threads: free functions. Errors: to the Report.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/config_file.h"
#include "config/diagnostic.h"
#include "config/effective.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {

Config read_config(const TreeNode& root,
                   const EnvironmentLookup& environment,
                   Setting& settings,
                   Report& report);

// What a configuration that is loaded anew cannot change while the process runs: the rows that say
// at_start(). All other settings are in force when the reload has ended; listen.tls and
// upstream.tls, and what is in their files, for connections that are made from then on. Gives the
// settings in which the two differ, as paths in the file; `next` then has them as `running` does,
// so that it tells what is in force.
std::vector<std::string> keep_what_needs_a_restart(const Config& running, Config& next);

}  // namespace cuckooguard::config
