// What a guard logs when it has started: its version, its namespaces, where it listens. While all
// is well these few lines stay the last.
//
// Threads: the main thread's, the reload's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/generation.h"
#include "guard/process.h"
#include "log/event_log.h"

namespace cuckooguard::app {

void report_namespaces(log::EventLog& log, const Generation& generation);
// What is wrong if the configuration has nothing to guard, as the package's own; else nothing.
std::optional<guard::Complaint> guards_nothing(const config::Config& config);
// Warns of it.
void report_guards_nothing(log::EventLog& log, const config::Config& config);
// `bound`: where it listens, for each of `listen`.
void report_start(log::EventLog& log,
                  const Generation& generation,
                  unsigned workers,
                  std::span<const std::vector<config::Address>> bound);
// Warns if the guard cannot be reached from outside its container: ports published by Docker or
// Podman lead to the container's network interface, not to its loopback.
void report_reach(log::EventLog& log,
                  std::span<const config::Listen> listen,
                  bool is_container_of_its_own);

}  // namespace cuckooguard::app
