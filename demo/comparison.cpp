#include "comparison.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "cache_aside.h"
#include "harness/deadline.h"

namespace cuckooguard::demo {
Comparison::Comparison(const UsersDatabase& database,
                       Endpoint redis,
                       const Mix& mix,
                       ProgressLine& progress,
                       std::vector<Change> changes)
    : database_(database),
      redis_(std::move(redis)),
      mix_(mix),
      progress_(progress),
      changes_(std::move(changes)) {
  verdict_.is_of_cluster = redis_.is_of_cluster;
}

void Comparison::run_without_guard() {
  progress_.say(fmt::format(
      "Without the guard: {} clients, {} look-ups, {} % of them an attack with random absent ids",
      mix_.clients,
      mix_.lookups,
      100 - mix_.existing_percent));
  const Stage stage{.name = "without",
                    .database = database_,
                    .redis = redis_,
                    .cache = redis_,
                    .changes = changes_};
  verdict_.without = run_phase(stage, mix_, progress_);
}

void Comparison::wait_for_filter(const Endpoint& guard) const {
  CacheAside application(guard, database_);
  const bool is_in_force = harness::eventually(
      [&application] { return declares_absent(application, [](bool, Answer) {}); });
  if (!is_in_force) {
    throw std::runtime_error("the guard's filter is not in force after 60 s");
  }
}

void Comparison::run_with_guard(const Endpoint& guard) {
  progress_.say("With the guard: the same look-ups");
  const Stage stage{
      .name = "with", .database = database_, .redis = redis_, .cache = guard, .changes = changes_};
  verdict_.with = run_phase(stage, mix_, progress_);
}

bool Comparison::conclude() const {
  progress_.say("\n" + table(verdict_) + "\n" + inserts_line(verdict_, database_.is_followed()));
  if (!changes_.empty()) {
    progress_.say(changes_line(verdict_));
  }
  if (!verdict_.is_good()) {
    progress_.say(
        "That is not good enough: no existing key may be hidden, 99 % of the attack must be "
        "stopped, and no look-up may come to nothing that would not without the guard.");
  }
  progress_.say(machine_line(verdict_));
  return verdict_.is_good();
}

}  // namespace cuckooguard::demo
