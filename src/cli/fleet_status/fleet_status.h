// `cuckooguard fleet status`: what the Redis of a fleet says of it: who publishes, and which
// followers are behind, and why. Asks Redis alone, with the guard's own login: what does
// not move within a second and a half is not there any more.
//
// Threads: the main thread's. Errors: a sentence; only run() prints.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "config/config.h"
#include "fleet/chain.h"
#include "fleet/replica.h"

namespace cuckooguard::cli {

void add_fleet_commands(Parser app, Commands& commands);

// `cuckooguard fleet status --config FILE [--source NAME] [--redis ADDRESS] [--all]`
struct FleetStatus {
  SourceFlags from;
  std::string redis{};  // empty: upstream.address; behind Sentinels, the master's
  bool all = false;     // also those that are not behind

  Parser add(Parser fleet);
  int run(const app::Guests& guests) const;
};

// What is in Redis at one moment.
struct FleetSeen {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  std::map<std::string, fleet::Ask> asks{};
};

struct FleetReport {
  std::string name;
  FleetSeen before;
  FleetSeen now;
  // What has been signed; nothing: there is none that these keys have signed.
  std::optional<fleet::Manifest> manifest{};

  bool is_published() const { return now.seq != before.seq || now.epoch != before.epoch; }
};

// The last line: `fleet: publishes=yes followers=20 behind=1`.
std::string describe(const FleetReport& report, bool shows_all);

std::expected<std::string, std::string> fleet_status_of(const FleetStatus& options,
                                                        const config::Built& built);

}  // namespace cuckooguard::cli
