#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

#include "config/values.h"
#include "guard/advice.h"
#include "guard/fact_table.h"
#include "guard/filter_totals.h"
#include "guard/trouble.h"
#include "text/words.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::seconds;

void add_configuration(FactSection& guard, const ReloadOutcome& last) {
  const bool is_loaded = last.errors.empty();
  guard.add(in_info("config_last_reload"), is_loaded ? "ok" : "failed");
  guard.add(in_info("config_last_reload_error"), is_loaded ? "" : last.errors.front());
  guard.add(in_json("configuration.loaded_at"), last.loaded_at.time_since_epoch().count())
      .metric("config_last_reload_timestamp_seconds",
              "Unix time at which the active configuration was loaded.");
  guard.add(in_json("configuration.last_reload_successful"), is_loaded)
      .metric("config_last_reload_successful",
              "0 if the last reload failed and the previous configuration is still active.");
  guard.add(in_json("configuration.errors"), last.errors);
  guard.add({"config_needs_restart", "configuration.needs_restart"}, last.needs_restart)
      .metric("config_settings_needing_restart",
              "Changed settings that take effect only after a restart.");
}

void add_redis(FactSection& guard, const redis::Snapshot& redis) {
  guard.add(in_info("redis"), redis.is_lost ? "lost" : redis::name_of(redis.availability));
  const Trouble trouble = trouble_with(redis).value_or(Trouble());
  guard.add(in_info("redis_why"), trouble.why);
  guard.add(in_info("redis_hint"), trouble.hint);
  guard.add(in_info("redis_role"), redis::role_name(redis).value_or("unknown"));
  guard.add(in_info("control"), redis::name_of(redis.control.state));
  guard.add(in_info("control_why"), redis.control.why);
  guard.add(in_info("control_hint"), redis.control.hint);
}

void add_reads(FactSection& guard, std::span<const Guard* const> guards) {
  const auto of = [&](const auto& counter) { return sum(guards, counter); };
  guard.add(in_info("answered_commands"), of(&GuardCounters::answered))
      .metric("commands_answered_total", "Commands that the guard answered without asking Redis.");
  guard.add(in_info("unguarded_keys"), of(&GuardCounters::unguarded_keys))
      .metric("unguarded_keys_total", "Keys in reads that belong to no namespace.");
  const auto unchecked =
      [&](const char* in_info, std::string reason, const Counter GuardCounters::* counter) {
        guard.add({in_info, "unchecked_reads." + reason}, of(counter))
            .metric("unchecked_reads_total",
                    "Reads that were forwarded without checking their keys, by reason.",
                    {"reason", reason});
      };
  unchecked("unsettled_reads", "unsettled", &GuardCounters::unsettled_reads);
  unchecked("not_allowed_reads", "not_allowed", &GuardCounters::not_allowed_reads);
  unchecked("unavailable_reads", "redis_unavailable", &GuardCounters::unavailable_reads);
  unchecked("other_node_reads", "other_node", &GuardCounters::other_node_reads);
  unchecked("no_room_reads", "no_room", &GuardCounters::no_room_reads);
  guard.add({}, of(&GuardCounters::share_filled_keys))
      .metric("share_filled_keys_total",
              "Absent keys that passed because their client had filled its share of the overlay "
              "within max_lag.");
  guard.add({}, of(&GuardCounters::scripts_without_keys))
      .metric(
          "scripts_without_keys_total",
          "EVAL, EVALSHA and FCALL calls that named no keys, so that their writes cannot be seen.");
}

void add_reply_times(FactSection& guard, std::span<const Guard* const> guards) {
  FactHistogram times{.bounds = ReplyTimes::kBounds};
  for (std::size_t i = 0; i < ReplyTimes::kCounts; ++i) {
    times.counts.push_back(sum(guards, [i](const GuardCounters& counters) -> const Counter& {
      return counters.reply_times.count(i);
    }));
  }
  times.sum =
      std::chrono::nanoseconds(sum(guards, [](const GuardCounters& counters) -> const Counter& {
        return counters.reply_times.nanoseconds();
      }));
  guard.add({}, times).metric(
      "command_duration_seconds",
      "Time from a forwarded read to its reply, measured at most once per worker and millisecond.");
}

void add_node(FactTable& table, const NodeStatus& node) {
  FactSection& one = table.section(
      {.json = "nodes.all[]",
       .labels = {{"node", node.address},
                  {"port", node.port == 0 ? std::string("none") : std::to_string(node.port)}}});
  one.add(in_json("address"), node.address);
  one.add(in_json("port"), node.port == 0 ? FactValue() : FactValue(node.port));
  if (node.state != NodeState::never) {
    one.add({}, node.state == NodeState::up)
        .metric("node_up", "1 while the node's control connection reaches it.");
  }
  one.add(in_json("role"), name_of(node.role))
      .state("node_role", "1 for the node's current role.", "role", kNodeRoleNames);
  one.add(in_json("slots"), node.slots).metric("node_slots", "Slots that the node owns.");
  one.add(in_json("state"), name_of(node.state));
  one.add(in_json("latency"), node.round_trip)
      .metric("node_round_trip_seconds", "Last round-trip time of the node's control connection.");
  add_control(one, "control", node.control);
}

// As Redis tells of its replicas. The address comes last: it is the cluster's to choose.
std::string line_of(const NodeStatus& node) {
  using std::chrono::microseconds;
  const auto round_trip =
      node.round_trip ? std::chrono::floor<microseconds>(*node.round_trip) : microseconds(-1);
  return "port=" + std::to_string(node.port) + ",role=" + std::string(name_of(node.role)) +
         ",slots=" + std::to_string(node.slots) + ",state=" + std::string(name_of(node.state)) +
         ",latency_us=" + std::to_string(round_trip.count()) + ",address=" + node.address;
}

void add_state(FactSection& space, const FactQuestion& asked, std::uint32_t ns) {
  static const auto kStates = [] {
    std::array<std::string_view, static_cast<std::size_t>(filter::kLastState) + 1> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names.at(i) = filter::state_name(static_cast<filter::State>(i));
    }
    return names;
  }();
  const GuardedNamespace& of = asked.guarded.namespaces[ns];
  const Passing passes = passing(of, asked.now);
  const Passing in_use = passing_in_use(of, space.name, asked.now);
  space.add("mode", config::name_of(of.mode))
      .state("namespace_mode", "1 for the current mode.", "mode", config::kModeNames);
  space.add(in_info("order"), config::name_of(of.order));
  space.add(in_info("consistency"), of.is_strict() ? "strict" : "max_lag");
  space.add(in_info("tolerate"), config::text_of_rate(of.tolerance->rate()));
  space.add("db", of.db);
  space.add("state", filter::state_name(of.filter->state()))
      .state("filter_state", "1 for the current state.", "state", kStates);
  space.add("fresh", of.filter->is_fresh(asked.now))
      .metric("namespace_fresh",
              "1 while absent keys can be answered: all filters are loaded and proven up to date.");
  space.add(in_info("why"), passes.why);
  space.add(in_info("hint"), passes.hint);
  space.add(in_json("why"), in_use.why);
  space.add(in_json("hint"), in_use.hint);
  const auto left = passes.left.value_or(std::chrono::nanoseconds(0));
  space.add(in_info("passing_seconds"), std::chrono::ceil<seconds>(left).count());
  space.add(in_json("passing_seconds"), passes.left);
  space.add({}, left).metric(
      "namespace_passing_seconds",
      "Remaining time for which all keys pass because earlier writes are unknown, such as after a "
      "start; 0 if they do not pass for this reason.");
  space.add(in_json("order"), config::name_of(of.order));
  space.add(in_json("consistency"), of.is_strict() ? "strict" : "max_lag");
  space.add(in_json("tolerate_per_second"), of.tolerance->rate());
}

void add_origin(FactSection& space, const FactQuestion& asked, std::uint32_t ns) {
  if (asked.process == nullptr || ns >= asked.process->origins.size()) {
    space.add(in_json("source"), {});
    space.add(in_json("proven_seconds_ago"), {});
    return;
  }
  const NamespaceOrigin& origin = asked.process->origins[ns];
  // fresh_until is the last proof and max_lag; of several tables the one proven longest ago.
  const TimePoint until = asked.guarded.namespaces[ns].filter->fresh_until();
  space.add("source", origin.source);
  space
      .add({"proven_ms_ago", "proven_seconds_ago"},
           until == TimePoint::min() ? FactAge() : FactAge(asked.now - (until - origin.max_lag)))
      .metric("namespace_proof_age_seconds",
              "Time since the namespace was last proven up to date.");
}

void add_filter(FactSection& space, const filter::LiveParts& live) {
  const FilterTotals all = filter_totals(live);
  space.add(in_json("filter_format"), all.format);
  space.add(in_json("filter_hashes"), all.hashes);
  space.add("tables", all.tables)
      .metric("filter_tables", "Tables of the namespace, each with a filter.");
  space.add({"items", "rows"}, all.items)
      .metric("filter_items", "Rows in the namespace's filters.");
  space.add(in_json("isolated_rows"), all.isolated);
  space.add("capacity", all.capacity)
      .metric("filter_capacity_items", "Rows that fit into the namespace's filters.");
  space.add("load", all.load())
      .metric("filter_load_ratio",
              "Share of the slots in the namespace's filters that are in use.");
  space.add({"false_positive_rate", "expected_false_positive_rate"}, all.false_positive_rate)
      .metric("filter_expected_false_positive_ratio",
              "Share of absent keys expected to pass at the current load of the filters.");
  space.add(in_json("measured_false_positive_rate"), {});  // the admin server's to tell
  space.add({"filter_bytes", "bytes"}, all.bytes)
      .metric("filter_memory_bytes", "Memory of the namespace's filters.");
  space.add(in_info("stale_items"), all.stale)
      .metric("filter_stale_items",
              "Upper bound of deleted rows that are still in the namespace's filters.");
  space.add(in_info("isolated_rows"), all.isolated)
      .metric("filter_isolated_rows",
              "Rows that the database may consider equal to other texts; look-ups that could match "
              "one of them pass.");
  space.add("full", all.full)
      .metric("filter_full", "1 if a filter of the namespace is full and all keys pass.");
  space.add(in_json("loading"), {});  // as above
  space.add(in_info("rebuild_needed"), all.rebuild_needed);
  space.add(in_info("filter_format"), all.format.empty() ? "own" : all.format);
  space.add(in_info("filter_hashes"), all.hashes);
}

void add_keys(FactSection& space, const NamespaceCounts& counts) {
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    const auto& [in_info, name] = kVerdictNames.at(i);
    const std::string verdict(name);
    space
        .add(i == 0 ? FactName() : FactName(in_info, "keys." + verdict),
             counts.sum(static_cast<Verdict>(i)))
        .metric("keys_total", "Keys in reads that were checked, by verdict.", {"verdict", verdict});
    space.add({}, counts.checked.keys.at(i).value())
        .metric(
            "http_checks_total", "Identities checked over HTTP, by verdict.", {"verdict", verdict});
  }
}

void add_attack(FactSection& space, const AttackWatch& attack, TimePoint now) {
  const auto lasts = attack.is_on() ? now - attack.began_at() : TimePoint::duration(0);
  space.add(in_info("absent_keys_per_second"), static_cast<std::uint64_t>(attack.rate()));
  space.add(in_json("absent_keys_per_second"), attack.rate());
  space.add(in_info("attack"), attack.is_on())
      .metric("attack",
              "1 during an attack: reads of keys without a row exceed 10/s and twice tolerate, "
              "over 5 s.");
  space.add(in_info("attack_seconds"), std::chrono::floor<seconds>(lasts).count());
  space.add(in_json("attack"), {});
  if (attack.is_on()) {
    space.add(in_json("attack.seconds"), lasts);
    space.add(in_json("attack.peak_per_second"), attack.peak());
    space.add(in_json("attack.keys"), attack.reads());
  }
}

void add_writes_and_comparison(FactSection& space, const GuardedNamespace& of) {
  const auto sum = [&](const auto& counter) { return of.counts->sum(counter); };
  space.add("keys_learned", sum(&NamespaceCounters::learned))
      .metric("learned_keys_total", "Keys added to the overlay by writes.");
  space.add("keys_added", sum(&NamespaceCounters::added))
      .metric("added_keys_total", "Keys added to the overlay by GUARD.ADD.");
  space.add("keys_lost", sum(&NamespaceCounters::lost))
      .metric(
          "overlay_share_lost_keys_total",
          "Keys evicted early from the overlay because their client or user had filled its share.");
  space.add(in_info("overlay_overflows"), of.overlay->overflows())
      .metric("overlay_overflows_total",
              "Keys evicted early from the overlay because it was full.");
  space.add(in_info("keys_sampled"), sum(&NamespaceCounters::sampled))
      .metric("sampled_keys_total",
              "Absent keys that were also looked up in Redis (verify_sample).");
  space.add(in_info("keys_verified"), sum(&NamespaceCounters::verified))
      .metric("verified_keys_total", "Absent keys for which Redis had no other value.");
  space.add(in_info("keys_contradicted"), sum(&NamespaceCounters::contradicted))
      .metric("contradicted_keys_total", "Absent keys for which Redis had a value.");
  space.add(in_info("keys_unverified"), sum(&NamespaceCounters::unverified))
      .metric("unverified_keys_total",
              "Absent keys that were forwarded and could not be compared with Redis's reply.");
  space.add("keys_replaced", sum(&NamespaceCounters::replaced))
      .metric("replaced_keys_total",
              "Absent keys whose proof came before Redis's nil, which the guard replaced with the "
              "absent reply.");
  space.add({"forecast_answered", "forecast.answered"}, sum(&NamespaceCounters::forecast_answered));
  space.add({"forecast_passed", "forecast.passed"}, sum(&NamespaceCounters::forecast_passed));
}

void add_loads(FactSection& space, const Loads* loads) {
  if (loads == nullptr) {
    return;
  }
  const Loads::Now now = loads->now();
  const LoadCounters& all = loads->counters();
  space.add({"loads", "breakdown.loads"}, now.loads)
      .metric("breakdown_loads", "Keys that one client is loading now, by lease.");
  space.add({"misses_held", "breakdown.held"}, now.held)
      .metric("breakdown_held_clients", "Clients that now wait for another client's load.");
  space.add({"usual_load_ms", "breakdown.usual_load_seconds"}, FactAge(now.usual))
      .metric("breakdown_usual_load_seconds",
              "Usual time from a nil to the SET of the key; 0: none was seen.");
  const auto add = [&](const char* name, const Counter& counter) -> Fact& {
    return space.add({name, "breakdown." + std::string(name)}, counter.value());
  };
  add("leases", all.leases);
  const auto ended = [&](const char* name, const Counter& counter, std::string how) {
    add(name, counter)
        .metric("breakdown_leases_ended_total",
                "Leases that have ended: by a write of the key, or lost (by time, or since the "
                "client had gone).",
                {"by", std::move(how)});
  };
  ended("leases_written", all.leases_written, "write");
  ended("leases_lost", all.leases_lost, "lost");
  add("misses_ever_held", all.held);
  const auto freed = [&](const char* name, const Counter& counter, std::string how) {
    add(name, counter)
        .metric("breakdown_misses_released_total",
                "Misses that wait no more: Redis had the value (spared), they load themselves in "
                "place of a client that did not set the key (take_over) or after hold (time), or "
                "the client sent more, or was to go (client).",
                {"by", std::move(how)});
  };
  freed("loads_spared", all.spared, "spared");
  freed("loads_taken_over", all.taken_over, "take_over");
  freed("misses_timed_out", all.timed_out, "time");
  freed("misses_let_go", all.let_go, "client");
  add("misses_not_held", all.passed)
      .metric("breakdown_misses_not_held_total",
              "Misses that would have waited, but for the bounds and adaptation of breakdown.");
  add("would_be_held", all.would_be_held);
  add("would_be_spared", all.would_be_spared)
      .metric(
          "breakdown_would_be_spared_total",
          "In mode observe: misses that would have waited, and whose key another client then set.");
  FactHistogram waited{.bounds = ReplyTimes::kBounds,
                       .sum = std::chrono::nanoseconds(all.waited.nanoseconds().value())};
  for (std::size_t i = 0; i < ReplyTimes::kCounts; ++i) {
    waited.counts.push_back(all.waited.count(i).value());
  }
  space.add({}, waited).metric("breakdown_wait_seconds", "How long misses waited.");
}

// What the source said of keys that Redis has although they are absent, and what its log has shown
// of reads that were absent.
void add_contradictions(FactSection& space, const FactQuestion& asked, std::uint32_t ns) {
  const Evidence seen = evidence(asked.guarded, ns, asked.now);
  const Contradictions::Counts& counts = seen.contradictions;
  const bool is_asked = asked.process != nullptr && asked.process->contradictions != nullptr;
  const auto if_asked = [&](std::string_view metric) { return is_asked ? metric : ""; };
  for (std::size_t i = 0; i < kCauses; ++i) {
    const std::string cause(kCauseNames.at(i));
    const bool is_known = static_cast<Cause>(i) != Cause::unknown;
    space
        .add(is_known ? FactName(cause + "s", "contradictions." + cause + "s") : FactName(),
             counts.found.at(i))
        .metric(if_asked("contradictions_total"),
                "Keys judged absent for which Redis had a value, by the result of the look-up in "
                "the source.",
                {"cause", cause});
  }
  space.add(in_info("rows_hidden"), seen.log.hidden())
      .metric(
          "rows_hidden_by_lag_total",
          "Rows answered as absent just after their commit, or that would have been (a sample).");
  space.add(in_info("rows_read_at_commit"), seen.log.at_commit);
  space.add({"rows_read_before_commit", "read_too_early.before_commit"}, seen.log.before_commit);
  space.add({}, seen.log.early())
      .metric("rows_read_before_commit_total",
              "Rows whose key was read before their commit, or at about the same time, and was "
              "absent (a sample).");
  space.add(in_json("read_too_early.at_commit"), seen.log.at_commit);
  space.add(in_json("read_too_early.hidden_by_lag"), seen.log.hidden_by_lag);
  space.add(in_json("read_too_early.hidden_in_spite_of_proof"), seen.log.hidden_in_spite_of_proof);
  space.add({"contradictions_unknown", "contradictions.unknown"},
            counts.of(Cause::unknown) + counts.dropped);
  space.add({"contradictions_open", "contradictions.open"}, counts.open)
      .metric(if_asked("contradictions_open"),
              "Contradicted keys that are still to be looked up in the source.");
  space.add({}, counts.dropped)
      .metric(if_asked("contradictions_dropped_total"),
              "Contradicted keys that were dropped because too many others were waiting for a "
              "look-up.");
  space.add(in_json("unmatched"), seen.is_unmatched());
  space.add("advice", advice(seen));
}

void add_source(FactSection& source, const SourceStatus& status, TimePoint now) {
  const Trouble trouble = trouble_with(status).value_or(Trouble());
  source.add("type", status.type);
  source.add("state", name_of(status.state))
      .state("source_state", "1 for the current state.", "state", filter::kSourceStateNames);
  source.add("why", trouble.why);
  source.add("hint", trouble.hint);
  source.add(in_info("position"), status.position);
  source.add(in_json("position"),
             status.position.empty() ? FactValue() : FactValue(status.position));
  source
      .add({"proven_ms_ago", "proven_seconds_ago"},
           status.proven_at ? FactAge(now - *status.proven_at) : FactAge())
      .metric("source_proof_age_seconds",
              "Time since all filters of the source were last proven up to date.");
  source.add("losses", status.losses)
      .metric("source_losses_total", "How often the connection to the source was lost.");
  source.add("log_retained", status.log_retained)
      .metric("source_log_retained_bytes",
              "Bytes of its log that the source's server retains for this guard.");
  source.add("flush_transactions", status.flush_transactions)
      .metric("source_flush_transactions_total",
              "Transactions with which the guard flushed the source's log for waiting reads.");
  source.add({status.flush_transactions ? "flush_transactions_per_hour" : "",
              "flush_transactions_per_hour"},
             status.flush_transactions_per_hour);
  for (const filter::SourceFact& each : status.more) {
    const auto shown = std::visit([](const auto& value) { return FactValue(value); }, each.value);
    source.add(FactName(std::string(each.name), std::string(each.name)), shown)
        .metric(each.metric, each.help);
  }
}

struct InfoValue {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "1" : "0"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    constexpr int kDigits = 8;
    std::array<char, 32> digits;
    const auto written = std::to_chars(
        digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, kDigits);
    return {digits.data(), written.ptr};
  }
  std::string operator()(const FactAge& age) const {
    return age ? std::to_string(std::chrono::floor<std::chrono::milliseconds>(*age).count()) : "-1";
  }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const std::vector<std::string>& texts) const {
    return text::joined(texts, ", ");
  }
  std::string operator()(const FactHistogram& /*value*/) const { return {}; }
};

void append_line(std::string& all, const std::string& line) {
  std::ranges::replace_copy_if(
      line, std::back_inserter(all), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  all += "\r\n";
}

}  // namespace

void add_control(FactSection& section,
                 const std::string& name,
                 const redis::ControlReport& control) {
  section.add(in_json(name + ".state"), redis::name_of(control.state));
  section.add(in_json(name + ".why"), control.why);
  section.add(in_json(name + ".hint"), control.hint);
  section.add(in_json(name + ".why_keys_pass"), control.why_keys_pass());
}

void guard_facts(FactTable& table) {
  const FactQuestion& asked = table.question();
  if (asked.ns) {
    return;
  }
  FactSection& guard = table.section({.title = "Guard"});
  if (asked.process != nullptr) {
    guard.add("version", asked.process->version)
        .metric("build_info",
                "Always 1, labelled with the version.",
                {"version", asked.process->version});
    guard.add({"uptime_in_seconds", "uptime_seconds"},
              std::chrono::floor<seconds>(asked.now - asked.process->started_at).count());
  }
  guard.add(in_info("workers"), asked.guards.size());
  if (asked.process != nullptr && asked.process->reloads != nullptr) {
    add_configuration(guard, asked.process->reloads->last());
  }
  guard.add(in_info("namespaces"), asked.guarded.namespaces.size());
  add_redis(guard, asked.redis);
  add_reads(guard, asked.guards);
  add_reply_times(guard, asked.guards);
}

void node_facts(FactTable& table) {
  const FactQuestion& asked = table.question();
  if (asked.ns || asked.process == nullptr || asked.process->nodes == nullptr) {
    return;
  }
  const NodesStatus status = asked.process->nodes->nodes();
  for (const NodeStatus& node : status.shown) {
    add_node(table, node);
  }
  FactSection& nodes = table.section({.title = "Nodes", .json = "nodes"});
  if (status.shown.empty()) {
    nodes.add(in_json("all"), std::vector<std::string>());
  }
  nodes.add({"nodes_without_port", "without_port"}, status.without_port)
      .metric(
          "nodes_without_port",
          "Nodes for which listen.nodes has no port, so that clients are sent to them directly.");
  nodes
      .add({"nodes_told_ms_ago", "told_seconds_ago"},
           std::max(asked.now - status.told_at, TimePoint::duration(0)))
      .metric("nodes_told_age_seconds",
              "Time since a node last reported the topology of the cluster.");
  nodes.add({"nodes_silent_why", "silent"}, status.why_silent);
  for (std::size_t i = 0; i < status.shown.size(); ++i) {
    nodes.add(in_info("node" + std::to_string(i)), line_of(status.shown[i]));
  }
}

void namespace_facts(FactTable& table) {
  const FactQuestion& asked = table.question();
  for (std::uint32_t ns = 0; ns < asked.guarded.namespaces.size(); ++ns) {
    if (asked.ns && asked.ns != ns) {
      continue;
    }
    const GuardedNamespace& of = asked.guarded.namespaces[ns];
    const std::string& name = asked.guarded.keyspace.name(ns);
    FactSection& space = table.section({.title = "Namespace",
                                        .name = name,
                                        .json = "namespaces",
                                        .labels = {{"namespace", name}}});
    add_state(space, asked, ns);
    add_origin(space, asked, ns);
    add_filter(space, *of.filter);
    add_keys(space, *of.counts);
    add_attack(space, of.counts->attack, asked.now);
    add_writes_and_comparison(space, of);
    add_contradictions(space, asked, ns);
    add_loads(space, of.loads.get());
  }
}

void source_facts(FactTable& table) {
  const FactQuestion& asked = table.question();
  const SourceView* const sources = asked.process != nullptr ? asked.process->sources : nullptr;
  for (std::size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    const std::string name(sources->name(i));
    if (!asked.ns || (*asked.ns < asked.process->origins.size() &&
                      asked.process->origins[*asked.ns].source == name)) {
      FactSection& source = table.section(
          {.title = "Source", .name = name, .json = "sources", .labels = {{"source", name}}});
      add_source(source, sources->status(i), asked.now);
    }
  }
}

FactProviders fact_providers() {
  return {guard_facts, node_facts, namespace_facts, source_facts};
}

std::string info_text(const InfoQuestion& question) {
  const Guard::Parts& parts = question.guard.parts();
  const Guard* const own = &question.guard;
  const bool knows_all = parts.process != nullptr && !parts.process->guards.empty();
  const FactTable table(
      {.guarded = parts,
       .process = parts.process,
       .guards = knows_all ? std::span(parts.process->guards) : std::span(&own, 1),
       .redis = question.redis,
       .now = question.now,
       .ns = question.ns,
       .is_brief = true});
  std::string all;
  for (const FactSection& section : table.sections()) {
    if (section.title.empty()) {
      continue;
    }
    append_line(all.append(all.empty() ? "# " : "\r\n# "),
                std::string(section.title) + (section.name.empty() ? "" : " ") + section.name);
    for (const Fact& fact : section.facts) {
      if (!fact.name.info.empty() && !std::holds_alternative<std::monostate>(fact.value.any)) {
        append_line(all, fact.name.info + ":" + std::visit(InfoValue(), fact.value.any));
      }
    }
  }
  return all;
}

}  // namespace cuckooguard::guard
