// The whole configuration, from its tree. The tables of settings (section_table.h) begin here: a
// new key is a row in one of them.
//
// Threads: free functions. Errors: to the Report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/config_file.h"
#include "config/diagnostic.h"
#include "config/effective.h"
#include "config/section.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {

// `sources.NAME` -> Source.

// nullopt: not even its type is known (reported).
std::optional<Source> read_source(const Reading& reading, const Entry& entry);
std::span<const KeyList> source_sections();

// `namespaces.NAME` -> Namespace, as far as it can be judged without the rest of the file.
Namespace read_namespace(const Reading& reading, const Entry& entry, NamespacePlaces& places);
std::span<const KeyList> namespace_sections();

// The places of those that are one; the others are reported.
std::vector<Place> read_key_templates(const Section& section,
                                      std::string_view key,
                                      Section::EmptyList empty,
                                      std::vector<keyspace::KeyTemplate>& out);

// What must hold between the parts of a configuration: names that are referred to exist, templates
// do not contradict each other, the guard does not listen on its own upstream.

void check(const Config& config, const Places& places, Report& report);

Config read_config(const TreeNode& root,
                   const EnvironmentLookup& environment,
                   const Built& built,
                   Setting& settings,
                   Report& report);

// The settings that a reloaded configuration cannot change while the process runs: the rows with
// at_start(). All other settings are in force when the reload has ended; listen.tls and
// upstream.tls, and the contents of their files, apply to later connections. Returns the
// settings in which the two differ, as paths in the file; `next` then has them as `running` does,
// so that it tells what is in force.
std::vector<std::string> keep_what_needs_a_restart(const Config& running, Config& next);

}  // namespace cuckooguard::config
