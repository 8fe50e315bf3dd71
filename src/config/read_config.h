// The whole configuration, from its tree. The tables of settings (section_table.h) begin here: a
// new key is a row in one of them.
//
// Threads: free functions. Errors: to the Report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/config_file.h"
#include "config/diagnostic.h"
#include "config/effective.h"
#include "config/places.h"
#include "config/section.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {

// `sources.NAME` -> Source.

// nullopt: not even its type is known (reported).
std::optional<Source> read_source(const Reading& reading, const Entry& entry);
std::span<const KeyList> source_sections();

// Reads `listen.tls` and `upstream.tls`: true, false, or a section.
//
// Errors: to the Report. What stands in the files is looked at when they are used
//   (io/tls_credentials.h).

void read_listen_tls(const Section& section, Listen& out);
std::span<const KeyList> listen_tls_sections();

// Once the address is read.
void read_upstream_tls(const Section& upstream, Upstream& out);
std::span<const KeyList> upstream_tls_sections();

// What must hold between the parts of a configuration: names that are referred to exist, templates
// do not contradict each other, the guard does not listen on its own upstream.

void check(const Config& config, const Places& places, Report& report);

Config read_config(const TreeNode& root,
                   const EnvironmentLookup& environment,
                   Setting& settings,
                   Report& report);

// The settings that a reloaded configuration cannot change while the process runs: the rows with
// at_start(). All other settings are in force when the reload has ended; listen.tls and
// upstream.tls, and the contents of their files, apply to later connections. Returns the
// settings in which the two differ, as paths in the file; `next` then has them as `running` does,
// so that it tells what is in force.
std::vector<std::string> keep_what_needs_a_restart(const Config& running, Config& next);

}  // namespace cuckooguard::config
