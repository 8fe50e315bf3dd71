// What a guard that has started says of itself: its version, what it guards, where it listens. A
// few lines, which are the last for as long as all is well.
//
// Threads: the main thread's, the reload's.
#pragma once

#include <span>
#include <vector>

#include "app/generation.h"
#include "log/event_log.h"

namespace cuckooguard::app {

void report_namespaces(log::EventLog& log, const Generation& generation);
// `bound`: where it listens, for each of `listen`.
void report_start(log::EventLog& log,
                  const Generation& generation,
                  unsigned workers,
                  std::span<const std::vector<config::Address>> bound);
// Warns where nobody outside of a container reaches it: ports that Docker or Podman publish lead to
// the container's network interface, not to its loopback.
void report_reach(log::EventLog& log,
                  std::span<const config::Listen> listen,
                  bool is_container_of_its_own);

}  // namespace cuckooguard::app
