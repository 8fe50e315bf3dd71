#include "guard/info_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <span>
#include <string_view>

#include "config/value_text.h"
#include "guard/advice.h"
#include "guard/filled.h"
#include "guard/filter_totals.h"
#include "guard/passing.h"
#include "guard/process.h"
#include "guard/trouble.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;

// In the order of Verdict, from `bypassed` on.
constexpr std::array<std::string_view, kVerdicts> kVerdictFields{"keys_unguarded",
                                                                 "keys_bypassed",
                                                                 "keys_of_other_db",
                                                                 "keys_not_allowed",
                                                                 "keys_not_fresh",
                                                                 "keys_of_fresh_ids",
                                                                 "keys_that_may_exist",
                                                                 "keys_overlaid",
                                                                 "keys_unproven",
                                                                 "keys_tolerated",
                                                                 "keys_observed_absent",
                                                                 "keys_redis_first_absent",
                                                                 "keys_answered_absent"};

class Lines {
 public:
  void section(std::string_view title, std::string_view name = {}) {
    text_ += text_.empty() ? "# " : "\r\n# ";
    text_ += title;
    if (!name.empty()) {
      text_ += ' ';
      append_line_text(name);
    }
    text_ += "\r\n";
  }
  void add(std::string_view field, std::string_view value) {
    text_ += field;
    text_ += ':';
    append_line_text(value);
    text_ += "\r\n";
  }
  template <std::integral Number>
  void add(std::string_view field, Number value) {
    add(field, std::string_view(std::to_string(value)));
  }
  void add_share(std::string_view field, double value) {
    constexpr int kDigits = 8;
    std::array<char, 32> digits;
    const auto written = std::to_chars(
        digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, kDigits);
    add(field, std::string_view(digits.data(), written.ptr));
  }
  std::string take() { return std::move(text_); }

 private:
  void append_line_text(std::string_view value) {
    std::ranges::replace_copy_if(
        value, std::back_inserter(text_), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  }

  std::string text_;
};

std::int64_t whole_milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::floor<milliseconds>(time).count();
}

// All workers', or this one's where nothing is known of the others.
std::span<const Guard* const> guards_of(const Guard* const& own) {
  const Process* const process = own->parts().process;
  return process != nullptr && !process->guards.empty() ? std::span(process->guards)
                                                        : std::span(&own, 1);
}

template <class CounterOf>
std::uint64_t sum(const Guard& own, const CounterOf& counter_of) {
  const Guard* const only = &own;
  std::uint64_t all = 0;
  for (const Guard* const guard : guards_of(only)) {
    all += counter_of(*guard).value();
  }
  return all;
}

std::uint64_t sum(const Guard& guard,
                  std::uint32_t ns,
                  const Counter NamespaceCounters::* counter) {
  return guard.parts().namespaces[ns].counts->sum(
      [counter](const NamespaceCounters& counters) -> const Counter& { return counters.*counter; });
}

// How the configuration in force came to be so.
void add_reload(Lines& lines, const ReloadOutcome& last) {
  lines.add("config_last_reload", last.errors.empty() ? "ok" : "failed");
  lines.add("config_last_reload_error",
            last.errors.empty() ? std::string_view() : std::string_view(last.errors.front()));
  std::string changed;
  for (const std::string& setting : last.needs_restart) {
    changed += (changed.empty() ? "" : ", ") + setting;
  }
  lines.add("config_needs_restart", changed);
}

void add_guard(Lines& lines, const InfoQuestion& asked) {
  const Guard::Parts& parts = asked.guard.parts();
  const Guard* const own = &asked.guard;
  lines.section("Guard");
  if (parts.process != nullptr) {
    lines.add("version", parts.process->version);
    lines.add(
        "uptime_in_seconds",
        std::chrono::floor<std::chrono::seconds>(asked.now - parts.process->started_at).count());
  }
  lines.add("workers", guards_of(own).size());
  if (parts.process != nullptr && parts.process->reloads != nullptr) {
    add_reload(lines, parts.process->reloads->last());
  }
  lines.add("namespaces", parts.namespaces.size());
  lines.add("redis", asked.redis.is_lost ? "lost" : redis::name_of(asked.redis.availability));
  const auto redis = trouble_with(asked.redis).value_or(Trouble());
  lines.add("redis_why", redis.why);
  lines.add("redis_hint", redis.hint);
  lines.add("redis_role", redis::role_name(asked.redis).value_or("unknown"));
  lines.add("control", redis::name_of(asked.redis.control.state));
  lines.add("control_why", asked.redis.control.why);
  lines.add("control_hint", asked.redis.control.hint);
  const auto add = [&](std::string_view field, const Counter GuardCounters::* counter) {
    lines.add(field, sum(asked.guard, [counter](const Guard& guard) -> const Counter& {
                return guard.counters().*counter;
              }));
  };
  add("answered_commands", &GuardCounters::answered);
  add("unguarded_keys", &GuardCounters::unguarded_keys);
  add("unsettled_reads", &GuardCounters::unsettled_reads);
  add("not_allowed_reads", &GuardCounters::not_allowed_reads);
  add("unavailable_reads", &GuardCounters::unavailable_reads);
  add("other_node_reads", &GuardCounters::other_node_reads);
  add("no_room_reads", &GuardCounters::no_room_reads);
}

void add_filter(Lines& lines, const filter::LiveParts& live) {
  const FilterTotals all = filter_totals(live);
  lines.add("tables", all.tables);
  lines.add("items", all.items);
  lines.add("capacity", all.capacity);
  lines.add_share("load", all.load());
  lines.add_share("false_positive_rate", all.false_positive_rate);
  lines.add("filter_bytes", all.bytes);
  lines.add("stale_items", all.stale);
  lines.add("isolated_rows", all.isolated);
  lines.add("full", all.full ? 1 : 0);
  lines.add("rebuild_needed", all.rebuild_needed ? 1 : 0);
  lines.add("filter_format", all.format.empty() ? "own" : all.format);
  lines.add("filter_hashes", all.hashes);
}

// What the comparison with Redis came to, by reads, then what the source said, by keys.
void add_comparison(Lines& lines, const InfoQuestion& asked, std::uint32_t ns) {
  const auto add = [&](std::string_view field, const Counter NamespaceCounters::* counter) {
    lines.add(field, sum(asked.guard, ns, counter));
  };
  add("keys_sampled", &NamespaceCounters::sampled);
  add("keys_verified", &NamespaceCounters::verified);
  add("keys_contradicted", &NamespaceCounters::contradicted);
  add("keys_unverified", &NamespaceCounters::unverified);
  add("keys_replaced", &NamespaceCounters::replaced);
  add("forecast_answered", &NamespaceCounters::forecast_answered);
  add("forecast_passed", &NamespaceCounters::forecast_passed);
  const Evidence seen = evidence(asked.guard.parts(), ns, asked.now);
  const Contradictions::Counts& counts = seen.contradictions;
  lines.add("hidden_rows", counts.of(Cause::hidden_row));
  lines.add("hidden_values", counts.of(Cause::hidden_value));
  lines.add("late_rows", counts.of(Cause::late_row));
  lines.add("rows_hidden", seen.log.hidden());
  lines.add("rows_read_at_commit", seen.log.at_commit);
  lines.add("rows_read_before_commit", seen.log.before_commit);
  lines.add("contradictions_unknown", counts.of(Cause::unknown) + counts.dropped);
  lines.add("contradictions_open", counts.open);
  lines.add("advice", advice(seen));
}

void add_namespace(Lines& lines, const InfoQuestion& asked, std::uint32_t ns) {
  const Guard::Parts& parts = asked.guard.parts();
  const GuardedNamespace& space = parts.namespaces[ns];
  lines.section("Namespace", parts.keyspace.name(ns));
  lines.add("mode", config::name_of(space.mode));
  lines.add("order", config::name_of(space.order));
  lines.add("consistency", space.is_strict() ? "strict" : "max_lag");
  lines.add("tolerate", config::text_of_rate(space.tolerance->rate()));
  lines.add("db", space.db);
  lines.add("state", filter::state_name(space.filter->state()));
  lines.add("fresh", space.filter->is_fresh(asked.now) ? 1 : 0);
  const Passing all = passing(space, asked.now);
  lines.add("why", all.why);
  lines.add("hint", all.hint);
  lines.add("passing_seconds",
            std::chrono::ceil<std::chrono::seconds>(all.left.value_or(std::chrono::nanoseconds(0)))
                .count());
  if (parts.process != nullptr && ns < parts.process->origins.size()) {
    const NamespaceOrigin& origin = parts.process->origins[ns];
    lines.add("source", origin.source);
    // fresh_until is the last proof and max_lag; of several tables the one proven longest ago.
    const TimePoint until = space.filter->fresh_until();
    lines.add("proven_ms_ago",
              until == TimePoint::min() ? std::int64_t{-1}
                                        : whole_milliseconds(asked.now - (until - origin.max_lag)));
  }
  add_filter(lines, *space.filter);
  for (std::size_t i = 1; i < kVerdicts; ++i) {
    lines.add(kVerdictFields.at(i),
              space.counts->sum([i](const NamespaceCounters& counters) -> const Counter& {
                return counters.keys.at(i);
              }));
  }
  const auto add = [&](std::string_view field, const Counter NamespaceCounters::* counter) {
    lines.add(field, sum(asked.guard, ns, counter));
  };
  const AttackWatch& attack = space.counts->attack;
  lines.add("absent_keys_per_second", static_cast<std::uint64_t>(attack.rate()));
  lines.add("attack", attack.is_on() ? 1 : 0);
  lines.add("attack_seconds",
            attack.is_on()
                ? std::chrono::floor<std::chrono::seconds>(asked.now - attack.began_at()).count()
                : 0);
  add("keys_learned", &NamespaceCounters::learned);
  add("keys_added", &NamespaceCounters::added);
  add("keys_lost", &NamespaceCounters::lost);
  lines.add("overlay_overflows", space.overlay->overflows());
  add_comparison(lines, asked, ns);
}

void add_source(Lines& lines, const SourceView& sources, std::size_t source, TimePoint now) {
  const SourceStatus status = sources.status(source);
  lines.section("Source", sources.name(source));
  lines.add("type", status.type);
  const auto trouble = trouble_with(status).value_or(Trouble());
  lines.add("state", name_of(status.state));
  lines.add("why", trouble.why);
  lines.add("hint", trouble.hint);
  lines.add("position", status.position);
  lines.add("proven_ms_ago",
            status.proven_at ? whole_milliseconds(now - *status.proven_at) : std::int64_t{-1});
  lines.add("losses", status.losses);
  if (status.log_retained) {
    lines.add("log_retained", *status.log_retained);
  }
  if (status.flush_transactions) {
    lines.add("flush_transactions", *status.flush_transactions);
    lines.add("flush_transactions_per_hour", status.flush_transactions_per_hour);
  }
}

// As Redis tells of its replicas. The address comes last: it is the cluster's to choose.
void add_nodes(Lines& lines, const NodesStatus& status, TimePoint now) {
  lines.section("Nodes");
  lines.add("nodes_without_port", status.without_port);
  lines.add("nodes_told_ms_ago",
            whole_milliseconds(std::max(now - status.told_at, TimePoint::duration(0))));
  lines.add("nodes_silent_why", status.why_silent);
  std::size_t number = 0;
  for (const NodeStatus& node : status.shown) {
    const std::int64_t round_trip =
        node.round_trip ? std::chrono::floor<std::chrono::microseconds>(*node.round_trip).count()
                        : -1;
    lines.add("node" + std::to_string(number++),
              "port=" + std::to_string(node.port) + ",role=" + std::string(name_of(node.role)) +
                  ",slots=" + std::to_string(node.slots) +
                  ",state=" + std::string(name_of(node.state)) +
                  ",latency_us=" + std::to_string(round_trip) + ",address=" + node.address);
  }
}

// Of all together: to go through them would hold up a worker.
void add_filled(Lines& lines, const Filled& filled, TimePoint now) {
  const Filled::Parts& parts = filled.parts();
  const filled::Filters::Totals totals = parts.filters.totals();
  lines.section("Filters");
  lines.add("filters", totals.filters);
  lines.add("max_filters", parts.settings.max_filters);
  lines.add("items", totals.items);
  lines.add("bytes", totals.bytes - totals.unsure_bytes);
  lines.add("max_memory", parts.settings.max_memory);
  lines.add("unsure", totals.unsure);
  lines.add("durability", config::name_of(parts.settings.durability));
  lines.add("ready", parts.store.is_current(now) ? 1 : 0);
  for (std::size_t i = 0; i < FilledCounts::kNames.size(); ++i) {
    lines.add("changes_" + std::string(FilledCounts::kNames.at(i)), filled.counts().of(i));
  }
  if (const auto log = parts.store.log()) {
    lines.add("log", name_of(log->state));
    lines.add("log_why", log->why);
    lines.add("log_generation", log->generation);
    lines.add("log_seq", log->seq);
    lines.add("log_waiting", log->waiting);
    lines.add("log_skipped", log->skipped);
    lines.add("log_rereads", log->rereads);
    lines.add("log_snapshot_seq", log->snapshot_seq);
    lines.add("log_snapshot_ms_ago",
              log->snapshot_at ? whole_milliseconds(now - *log->snapshot_at) : std::int64_t{-1});
  }
}

}  // namespace

std::string info_text(const InfoQuestion& question) {
  Lines lines;
  const Guard::Parts& parts = question.guard.parts();
  if (!question.ns) {
    add_guard(lines, question);
    if (parts.process != nullptr && parts.process->nodes != nullptr) {
      add_nodes(lines, parts.process->nodes->nodes(), question.now);
    }
    if (parts.filled != nullptr) {
      add_filled(lines, *parts.filled, question.now);
    }
  }
  for (std::uint32_t ns = 0; ns < parts.namespaces.size(); ++ns) {
    if (!question.ns || question.ns == ns) {
      add_namespace(lines, question, ns);
    }
  }
  const Process* const process = parts.process;
  if (process == nullptr || process->sources == nullptr) {
    return lines.take();
  }
  for (std::size_t i = 0; i < process->sources->size(); ++i) {
    if (!question.ns || (*question.ns < process->origins.size() &&
                         process->origins[*question.ns].source == process->sources->name(i))) {
      add_source(lines, *process->sources, i, question.now);
    }
  }
  return lines.take();
}

}  // namespace cuckooguard::guard
