// The page /status: GUARD.INFO's facts and a few more (guard/fact_table.h), as JSON for people and
// programs; problems, totals and events are made for the page.
//
//   {"version", "uptime_seconds", "draining", "workers": [{"clients"}],
//    "problems": [{"grade" (bad, warning), "what", "why", "hint"}] (Problem),
//    "configuration": {"loaded_at" (since 1970), "last_reload_successful", "errors": [line],
//                      "needs_restart": [setting]},
//    "process": {"cpu_seconds", "resident_bytes", "open_descriptors", "descriptors_max"},
//    "redis": {"up" (null without namespaces, or before it was tried), "role", "state",
//              "control": {"state", "why", "hint", "why_keys_pass"}},
//    "nodes": null or {"all": [{"address", "port" (the guard's; null: none), "role", "slots",
//                               "state" (never, up, down), "latency" (seconds), "control"}],
//                      "without_port", "told_seconds_ago", "silent" (why; empty: they tell)},
//    "totals": {...} (totals.h), "reply_time_bounds": [seconds] (of the counts in totals; the last
//    count is of longer ones), "unchecked_reads": {REASON: count},
//    "namespaces": {NAME: {"mode", "db", "state", "fresh", "why", "hint", "passing_seconds",
//                          "order", "source", "proven_seconds_ago", "tables", "rows",
//                          "capacity", "load",
//                          "expected_false_positive_rate", "measured_false_positive_rate",
//                          "bytes", "full",
//                          "loading": null or {"rows", "rows_expected", "rows_per_second",
//                                              "fraction", "remaining_seconds"},
//                          "keys": {VERDICT: count}, "keys_learned", "keys_added",
//                          "contradictions": {"hidden_rows", "hidden_values", "late_rows",
//                                             "unknown", "open"},
//                          "keys_replaced", "forecast": {"answered", "passed"},
//                          "read_too_early": {"before_commit", "at_commit", "hidden_by_lag",
//                                             "hidden_in_spite_of_proof"},
//                          "unmatched" (there were reads, but none of this namespace), "advice",
//                          "traffic": {"summary", "pattern", "expiring_keys_max",
//                                      "expiring_keys_max_in_seconds"}}},
//    "sources": {NAME: {"type", "state", "why", "hint", "position", "proven_seconds_ago",
//                       "losses", "log_retained" (bytes; null: its server keeps none for us),
//                       "flush_transactions" (null: it needs none),
//                       "flush_transactions_per_hour"; of a fleet "fleet_role", … (docs/fleet.md)}},
//    "filters": null or {"count", "items", "bytes", "unsure" (how many this guard has no room for),
//                        "max_filters", "max_memory", "durability",
//                        "ready" (look-ups are answered), "changes": {OUTCOME: count},
//                        "log": null or {"state", "why", "generation", "seq", "snapshot_seq",
//                                        "snapshot_seconds_ago" (null: it was there before this
//                                        process), "waiting", "skipped", "rereads"},
//                        "shown": [{"key", "name" (in filters.named, or null), "kind", "ready",
//                                   "items", "capacity", "layers" (0: nobody has filled it
//                                   yet, or there is no room for it), "bytes",
//                                   "false_positive_rate", "expires_seconds"}]},
//    "events": [{"number", "time", "level", "text"}] (the log's last lines, the oldest first)}
//
// Of filters that applications fill kFiltersShown are shown, the named ones and then the largest;
// the rest of `filters` is of all.
// Of a Redis of several nodes `redis` says whether any is up, and nothing else.
// `control`: may the guard ask? Its state is allowed, limited, not_allowed, unsupported (a cluster)
// or unknown; why_keys_pass says in one sentence why keys pass for it, empty: none does.
// `why`: of a namespace, why all of its keys pass; empty: they do not. `hint`: what to do about it.
// passing_seconds: so long they do even if it is fresh, since what was written before is not known;
// null: they do not. Else null: not known. Names are stable; new ones may come. `why`, `hint`,
// `advice`, problems and events are for people.
//
// Threads and lifetimes: as Model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/fact_table.h"
#include "views/model.h"

namespace cuckooguard::views {

// Everything that is wrong, for people: what, why, and what to do, gravest first. A current attack
// comes first: it may be the cause. The page shows these texts unchanged.
//
// Namespaces whose keys pass for the same reason are grouped. No number here changes by itself each
// second, since screen readers would read it out each time.
//
// Threads: as Model. Limits: a few for the process, two per namespace, one per node shown.
enum class Grade : std::uint8_t { bad, warning };
constexpr std::string_view name_of(Grade grade) {
  constexpr std::array<std::string_view, 2> kNames{"bad", "warning"};
  return kNames.at(static_cast<std::size_t>(grade));
}

struct Problem {
  Grade grade = Grade::warning;
  std::string what{};
  std::string why{};
  std::string hint{};
};

std::vector<Problem> problems(const Model& model, const ProcessUse& use);

// Of the events those behind this number.
std::string status_json(const Model& model, std::uint64_t events_after = 0);

}  // namespace cuckooguard::views
