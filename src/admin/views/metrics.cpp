#include "views/metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/reported_state.h"
#include "guard/contradictions.h"
#include "guard/filled.h"
#include "guard/filter_totals.h"
#include "guard/passing.h"
#include "io/clock.h"
#include "views/metric_families.h"
#include "views/model.h"
#include "views/process_use.h"

namespace cuckooguard::views {
namespace {

using guard::FilterTotals;
using guard::GuardCounters;
using guard::NamespaceCounters;
using Type = prometheus::MetricType;

// The metrics of all sources.

void put_source(MetricFamilies& families,
                const Model& model,
                const std::string& name,
                const guard::SourceStatus& status) {
  for (const std::string_view state : filter::kSourceStateNames) {
    families.put({"cuckooguard_source_state", "1 for the current state.", Type::Gauge},
                 name_of(status.state) == state ? 1.0 : 0.0,
                 {{"source", name}, {"state", std::string(state)}});
  }
  if (status.proven_at) {
    families.put({"cuckooguard_source_proof_age_seconds",
                  "Time since all filters of the source were last proven up to date.",
                  Type::Gauge},
                 seconds_of(model.now - *status.proven_at),
                 {{"source", name}});
  }
  families.put({"cuckooguard_source_losses_total",
                "How often the connection to the source was lost.",
                Type::Counter},
               status.losses,
               {{"source", name}});
  families.put({"cuckooguard_source_troubles_total",
                "How often the source had trouble, such as a checkpoint that cannot be written.",
                Type::Counter},
               model.process_state.loads.troubles(name),
               {{"source", name}});
  if (status.log_retained) {
    families.put({"cuckooguard_source_log_retained_bytes",
                  "What the source's server keeps of its log for us.",
                  Type::Gauge},
                 static_cast<double>(*status.log_retained),
                 {{"source", name}});
  }
  if (status.flush_transactions) {
    families.put({"cuckooguard_source_flush_transactions_total",
                  "Transactions by which the source's log was flushed for reads that waited.",
                  Type::Counter},
                 *status.flush_transactions,
                 {{"source", name}});
  }
}

void put_sources(MetricFamilies& families, const Model& model) {
  const guard::SourceView* const sources = model.process.sources;
  for (std::size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    put_source(families, model, std::string(sources->name(i)), sources->status(i));
  }
}

// The metrics of the process itself: its configuration, clients, log, certificates, and whether it
// reaches Redis.

// Whether Redis lets the guard ask.
void put_control(MetricFamilies& families, redis::ControlReport::State now) {
  using State = redis::ControlReport::State;
  for (const State state :
       {State::allowed, State::limited, State::not_allowed, State::unsupported}) {
    families.put(
        {"cuckooguard_control_state",
         "1 for what the control connection's user is, of several nodes the worst: not_allowed to "
         "ask, so that keys pass; limited, at a smaller cost; allowed. unsupported: a Redis in "
         "cluster mode without upstream.cluster, or the other way round, so that all keys pass.",
         Type::Gauge},
        state == now ? 1.0 : 0.0,
        {{"state", std::string(redis::name_of(state))}});
  }
}

void put_certificates(MetricFamilies& families, const Model& model) {
  if (!model.process_state.certificates) {
    return;
  }
  const std::chrono::duration<double> now = io::wall_time().time_since_epoch();
  for (const Certificate& certificate : model.process_state.certificates()) {
    const std::chrono::duration<double> expires = certificate.expires_at.time_since_epoch();
    families.put({"cuckooguard_certificate_remaining_seconds",
                  "Time until a certificate that the guard uses expires, by its file; negative: it "
                  "has expired.",
                  Type::Gauge},
                 (expires - now).count(),
                 {{"file", certificate.file}});
  }
}

void put_process(MetricFamilies& families, const Model& model) {
  const auto put = [&](const char* name, const char* help, Type type, double value) {
    families.put({name, help, type}, value);
  };
  families.put({"cuckooguard_build_info", "1, with the version.", Type::Gauge},
               1.0,
               {{"version", model.process.version}});
  if (model.process.reloads != nullptr) {
    const guard::ReloadOutcome last = model.process.reloads->last();
    put("cuckooguard_config_last_reload_successful",
        "0 if the last reload was refused and the previous configuration is still in force.",
        Type::Gauge,
        last.errors.empty() ? 1.0 : 0.0);
    put("cuckooguard_config_last_reload_timestamp_seconds",
        "Unix time at which the configuration in force was loaded.",
        Type::Gauge,
        static_cast<double>(last.loaded_at.time_since_epoch().count()));
    put("cuckooguard_config_settings_needing_restart",
        "Changed settings that take effect only after a restart.",
        Type::Gauge,
        static_cast<double>(last.needs_restart.size()));
  }
  for (std::size_t worker = 0; worker < model.process_state.clients.size(); ++worker) {
    families.put({"cuckooguard_clients", "Connected clients, by worker.", Type::Gauge},
                 static_cast<std::uint64_t>(model.process_state.clients[worker]()),
                 {{"worker", std::to_string(worker)}});
  }
  if (model.process_state.refused_clients) {
    put("cuckooguard_refused_clients_total",
        "Clients that were refused because there were limits.max_clients of them.",
        Type::Counter,
        static_cast<double>(model.process_state.refused_clients()));
  }
  if (model.process_state.dropped_log_lines) {
    put("cuckooguard_log_dropped_lines_total",
        "Lines of the log that were dropped because nobody read standard error.",
        Type::Counter,
        static_cast<double>(model.process_state.dropped_log_lines()));
  }
  put_certificates(families, model);
  if (!model.guarded.namespaces.empty()) {
    const RedisSeen redis = model.process_state.redis.load(std::memory_order_relaxed);
    put("cuckooguard_upstream_up",
        "1 while the control connection reaches Redis.",
        Type::Gauge,
        redis == RedisSeen::up ? 1.0 : 0.0);
    put_control(families,
                model.process.nodes != nullptr ? model.process.nodes->nodes().control()
                                               : model.redis.control.state);
  }
  const ProcessUse use = process_use();
  put("process_cpu_seconds_total", "User and system time.", Type::Counter, use.cpu_seconds);
  put("process_resident_memory_bytes", "Resident memory.", Type::Gauge, use.resident_bytes);
  put("process_virtual_memory_bytes", "Virtual memory.", Type::Gauge, use.virtual_bytes);
  put("process_start_time_seconds", "Start, since 1970.", Type::Gauge, use.start_time_seconds);
  put("process_open_fds", "Open file descriptors.", Type::Gauge, use.open_descriptors);
  put("process_max_fds", "File descriptors there may be.", Type::Gauge, use.descriptors_max);
}

// The nodes of a Redis that is more than one server, as metrics.
// Limits: guard::NodeView::kShownMax nodes.

void put_node(MetricFamilies& families, const guard::NodeStatus& node) {
  const std::string port = node.port == 0 ? std::string("none") : std::to_string(node.port);
  const Labels labels{{"node", node.address}, {"port", port}};
  if (node.state != guard::NodeState::never) {
    families.put(
        {"cuckooguard_node_up", "1 while the node's control connection reaches it.", Type::Gauge},
        node.state == guard::NodeState::up ? 1.0 : 0.0,
        labels);
  }
  for (const std::string_view role : guard::kNodeRoleNames) {
    Labels of_role = labels;
    of_role.push_back({"role", std::string(role)});
    families.put({"cuckooguard_node_role", "1 for the node's current role.", Type::Gauge},
                 name_of(node.role) == role ? 1.0 : 0.0,
                 std::move(of_role));
  }
  families.put({"cuckooguard_node_slots", "Slots that the node owns.", Type::Gauge},
               static_cast<std::uint64_t>(node.slots),
               labels);
  if (node.round_trip) {
    families.put({"cuckooguard_node_round_trip_seconds",
                  "Time in which the node last replied to its control connection.",
                  Type::Gauge},
                 seconds_of(*node.round_trip),
                 labels);
  }
}

void put_nodes(MetricFamilies& families, const Model& model) {
  if (model.process.nodes == nullptr) {
    return;
  }
  const guard::NodesStatus status = model.process.nodes->nodes();
  for (const guard::NodeStatus& node : status.shown) {
    put_node(families, node);
  }
  families.put({"cuckooguard_nodes_without_port",
                "Nodes for which listen.nodes has no port, so that clients are sent to them "
                "directly.",
                Type::Gauge},
               static_cast<std::uint64_t>(status.without_port));
  families.put({"cuckooguard_nodes_told_age_seconds",
                "Time since a node last told what the cluster consists of.",
                Type::Gauge},
               std::max(0.0, seconds_of(model.now - status.told_at)));
}

// The filters that applications fill, as metrics: of all together, and of each that
// filters.named names. What clients name stands in no label.
// Limits: 2 KiB, and 300 bytes for each named filter.

void put_log(MetricFamilies& families, const filled::LogStatus& log, guard::TimePoint now) {
  families.put({"cuckooguard_application_filter_log_waiting_changes",
                "Changes that have not come back from the filters' log in Redis.",
                Type::Gauge},
               static_cast<std::uint64_t>(log.waiting));
  families.put({"cuckooguard_application_filter_log_skipped_entries_total",
                "Entries of the filters' log that do not count: nobody with the secret has "
                "written them, or they are copies.",
                Type::Counter},
               log.skipped);
  families.put({"cuckooguard_application_filter_log_rereads_total",
                "How often the filters' log was read again as a whole.",
                Type::Counter},
               log.rereads);
  families.put({"cuckooguard_application_filter_log_unsaved_entries",
                "Entries of the filters' log behind its last snapshot.",
                Type::Gauge},
               log.seq - std::min(log.seq, log.snapshot_seq));
  if (log.snapshot_at) {
    families.put({"cuckooguard_application_filter_snapshot_age_seconds",
                  "Time since a new snapshot of the filters was seen in Redis; left out before "
                  "the first one of this process.",
                  Type::Gauge},
                 std::max(0.0, seconds_of(now - *log.snapshot_at)));
  }
}

void put_named(MetricFamilies& families, const guard::Filled& filled) {
  const std::size_t named = filled.parts().settings.named.size();
  for (const guard::Filled::Shown& filter : filled.shown(named)) {
    families.put({"cuckooguard_application_filter_named_items",
                  "Items in the filter, by its name in filters.named.",
                  Type::Gauge},
                 filter.facts.items,
                 {{"filter", filter.name}});
    families.put({"cuckooguard_application_filter_named_memory_bytes",
                  "Memory of the filter, by its name in filters.named.",
                  Type::Gauge},
                 filter.facts.bytes,
                 {{"filter", filter.name}});
  }
}

void put_filled(MetricFamilies& families, const Model& model) {
  if (model.guarded.filled == nullptr) {
    return;
  }
  const guard::Filled& filled = *model.guarded.filled;
  const guard::Filled::Parts& parts = filled.parts();
  const filled::Filters::Totals totals = parts.filters.totals();
  const auto put = [&](const char* name, const char* help, std::uint64_t value) {
    families.put({name, help, Type::Gauge}, value);
  };
  put("cuckooguard_application_filters", "Filters that applications fill.", totals.filters);
  put("cuckooguard_application_filters_max",
      "Filters that applications may fill (filters.max_filters).",
      std::uint64_t{parts.settings.max_filters});
  put("cuckooguard_application_filter_items",
      "Items in the filters that applications fill.",
      totals.items);
  put("cuckooguard_application_filter_memory_bytes",
      "Memory of the filters that applications fill.",
      totals.bytes - totals.unsure_bytes);
  put("cuckooguard_application_filters_unsure",
      "Filters that applications fill, for which this guard has no room: look-ups say 1.",
      totals.unsure);
  put("cuckooguard_application_filter_memory_max_bytes",
      "Memory that the filters that applications fill may take (filters.max_memory).",
      parts.settings.max_memory);
  put("cuckooguard_application_filters_ready",
      "1 while look-ups in filters that applications fill are answered: all is here that any "
      "guard was told.",
      parts.store.is_current(model.now) ? 1 : 0);
  for (std::size_t i = 0; i < guard::FilledCounts::kNames.size(); ++i) {
    families.put({"cuckooguard_application_filter_changes_total",
                  "Changes of filters that this guard's clients asked for, by outcome.",
                  Type::Counter},
                 filled.counts().of(i),
                 {{"outcome", std::string(guard::FilledCounts::kNames.at(i))}});
  }
  put_named(families, filled);
  if (const auto log = parts.store.log()) {
    put_log(families, *log, model.now);
  }
}

template <class Counters>
struct CounterMetric {
  const char* name;
  const char* help;
  const guard::Counter Counters::* counter;
  const char* reason = nullptr;  // the label `reason`; lines with one name stand together
};

constexpr const char* kUnseen = "cuckooguard_unchecked_reads_total";
constexpr const char* kUnseenHelp =
    "Reads that were forwarded without checking their keys, by reason.";

constexpr std::array<CounterMetric<GuardCounters>, 9> kGuardCounters{{
    {"cuckooguard_commands_answered_total",
     "Commands that the guard answered without asking Redis.",
     &GuardCounters::answered},
    {"cuckooguard_unguarded_keys_total",
     "Keys of reads that belong to no namespace.",
     &GuardCounters::unguarded_keys},
    {kUnseen, kUnseenHelp, &GuardCounters::unsettled_reads, "unsettled"},
    {kUnseen, kUnseenHelp, &GuardCounters::not_allowed_reads, "not_allowed"},
    {kUnseen, kUnseenHelp, &GuardCounters::unavailable_reads, "redis_unavailable"},
    {kUnseen, kUnseenHelp, &GuardCounters::other_node_reads, "other_node"},
    {kUnseen, kUnseenHelp, &GuardCounters::no_room_reads, "no_room"},
    {"cuckooguard_share_filled_keys_total",
     "Absent keys that passed because their client had filled its share of the overlay within "
     "max_lag.",
     &GuardCounters::share_filled_keys},
    {"cuckooguard_scripts_without_keys_total",
     "EVAL, EVALSHA and FCALL calls that named no keys, so that their writes cannot be seen.",
     &GuardCounters::scripts_without_keys},
}};

// Each with the label `namespace`.
constexpr std::array<CounterMetric<NamespaceCounters>, 8> kNamespaceCounters{{
    {"cuckooguard_learned_keys_total",
     "Keys that writes put into the overlay.",
     &NamespaceCounters::learned},
    {"cuckooguard_added_keys_total",
     "Keys that GUARD.ADD put into the overlay.",
     &NamespaceCounters::added},
    {"cuckooguard_overlay_share_lost_keys_total",
     "Keys that the overlay lost early because their client or user had filled its share.",
     &NamespaceCounters::lost},
    {"cuckooguard_sampled_keys_total",
     "Absent keys that were also looked up in Redis (verify_sample).",
     &NamespaceCounters::sampled},
    {"cuckooguard_verified_keys_total",
     "Absent keys for which Redis had no other value.",
     &NamespaceCounters::verified},
    {"cuckooguard_contradicted_keys_total",
     "Absent keys for which Redis had a value.",
     &NamespaceCounters::contradicted},
    {"cuckooguard_unverified_keys_total",
     "Absent keys that were forwarded and could not be compared with Redis's reply.",
     &NamespaceCounters::unverified},
    {"cuckooguard_replaced_keys_total",
     "Absent keys that were answered in place of Redis's nil, their proof having come before it.",
     &NamespaceCounters::replaced},
}};

struct FilterMetric {
  const char* name;
  const char* help;
  double (*value)(const FilterTotals&);
};

constexpr std::array<FilterMetric, 9> kFilters{{
    {"cuckooguard_filter_tables",
     "Tables of the namespace, each with a filter.",
     [](const FilterTotals& all) { return static_cast<double>(all.tables); }},
    {"cuckooguard_filter_items",
     "Rows in the namespace's filters.",
     [](const FilterTotals& all) { return static_cast<double>(all.items); }},
    {"cuckooguard_filter_capacity_items",
     "Rows that fit into the namespace's filters.",
     [](const FilterTotals& all) { return static_cast<double>(all.capacity); }},
    {"cuckooguard_filter_load_ratio",
     "Share of the slots in the namespace's filters that are in use.",
     [](const FilterTotals& all) { return all.load(); }},
    {"cuckooguard_filter_expected_false_positive_ratio",
     "Share of absent keys expected to pass at the current load of the filters.",
     [](const FilterTotals& all) { return all.false_positive_rate; }},
    {"cuckooguard_filter_memory_bytes",
     "Memory of the namespace's filters.",
     [](const FilterTotals& all) { return static_cast<double>(all.bytes); }},
    {"cuckooguard_filter_stale_items",
     "Upper bound of deleted rows that are still in the namespace's filters.",
     [](const FilterTotals& all) { return static_cast<double>(all.stale); }},
    {"cuckooguard_filter_isolated_rows",
     "Rows that the database may consider equal to other texts; look-ups that could mean one of "
     "them pass.",
     [](const FilterTotals& all) { return static_cast<double>(all.isolated); }},
    {"cuckooguard_filter_full",
     "1 if a filter of the namespace is full and all keys pass.",
     [](const FilterTotals& all) { return all.full ? 1.0 : 0.0; }},
}};

void put_guard(MetricFamilies& families, const Model& model) {
  for (const auto& metric : kGuardCounters) {
    families.put({metric.name, metric.help, Type::Counter},
                 model.sum([&](const guard::Guard& guard) -> const guard::Counter& {
                   return guard.counters().*metric.counter;
                 }),
                 metric.reason == nullptr ? Labels{} : Labels{{"reason", metric.reason}});
  }
}

void put_reply_times(MetricFamilies& families, const Model& model) {
  prometheus::ClientMetric::Histogram all;
  for (std::size_t i = 0; i < guard::ReplyTimes::kCounts; ++i) {
    all.sample_count += model.sum([&](const guard::Guard& guard) -> const guard::Counter& {
      return guard.counters().reply_times.count(i);
    });
    if (i < guard::ReplyTimes::kBounds.size()) {
      all.bucket.push_back({.cumulative_count = all.sample_count,
                            .upper_bound = seconds_of(guard::ReplyTimes::kBounds.at(i))});
    }
  }
  all.sample_sum = seconds_of(
      std::chrono::nanoseconds(model.sum([](const guard::Guard& guard) -> const guard::Counter& {
        return guard.counters().reply_times.nanoseconds();
      })));
  families.put({"cuckooguard_command_duration_seconds",
                "Time from a forwarded read to its reply, measured at most once per worker and "
                "millisecond.",
                Type::Histogram},
               std::move(all));
}

template <class ValueOf>
void put_by_verdict(MetricFamilies& families,
                    const MetricName& name,
                    const Model& model,
                    ValueOf value_of) {
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    for (std::size_t i = 0; i < guard::kVerdicts; ++i) {
      const auto verdict = static_cast<guard::Verdict>(i);
      families.put(name,
                   value_of(ns, verdict),
                   {{"namespace", model.guarded.keyspace.name(ns)},
                    {"verdict", std::string(name_of(verdict))}});
    }
  }
}

void put_keys(MetricFamilies& families, const Model& model) {
  put_by_verdict(
      families,
      {"cuckooguard_keys_total", "Keys of reads that were checked, by verdict.", Type::Counter},
      model,
      [&](std::uint32_t ns, guard::Verdict verdict) {
        return model.sum(ns,
                         [&](const guard::NamespaceCounters& counters) -> const guard::Counter& {
                           return counters.of(verdict);
                         });
      });
  put_by_verdict(
      families,
      {"cuckooguard_http_checks_total", "Identities checked by HTTP, by verdict.", Type::Counter},
      model,
      [&](std::uint32_t ns, guard::Verdict verdict) { return model.check.count(ns, verdict); });
}

// value_of(ns) for each namespace; those without a value are left out.
template <class ValueOf>
void put_by_namespace(MetricFamilies& families,
                      const MetricName& name,
                      const Model& model,
                      ValueOf value_of) {
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    if (const std::optional<double> value = value_of(ns)) {
      families.put(name, *value, {{"namespace", model.guarded.keyspace.name(ns)}});
    }
  }
}

void put_modes_and_states(MetricFamilies& families, const Model& model) {
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    for (std::size_t mode = 0; mode < config::kModeNames.size(); ++mode) {
      const config::Mode now = model.guarded.namespaces[ns].mode;
      families.put({"cuckooguard_namespace_mode", "1 for the current mode.", Type::Gauge},
                   static_cast<std::size_t>(now) == mode ? 1.0 : 0.0,
                   {{"namespace", model.guarded.keyspace.name(ns)},
                    {"mode", std::string(config::kModeNames.at(mode))}});
    }
    const filter::State state = model.guarded.namespaces[ns].filter->state();
    for (auto each = filter::State::loading; each <= filter::kLastState;
         each = static_cast<filter::State>(static_cast<int>(each) + 1)) {
      families.put(
          {"cuckooguard_filter_state", "1 for the current state.", Type::Gauge},
          each == state ? 1.0 : 0.0,
          {{"namespace", model.guarded.keyspace.name(ns)}, {"state", filter::state_name(each)}});
    }
  }
}

void put_namespaces(MetricFamilies& families, const Model& model) {
  for (const auto& metric : kNamespaceCounters) {
    put_by_namespace(
        families, {metric.name, metric.help, Type::Counter}, model, [&](std::uint32_t ns) {
          return static_cast<double>(
              model.sum(ns, [&](const guard::NamespaceCounters& counters) -> const guard::Counter& {
                return counters.*metric.counter;
              }));
        });
  }
  put_by_namespace(families,
                   {"cuckooguard_overlay_overflows_total",
                    "Keys that the overlay dropped early because it was full.",
                    Type::Counter},
                   model,
                   [&](std::uint32_t ns) {
                     return static_cast<double>(model.guarded.namespaces[ns].overlay->overflows());
                   });
  put_by_namespace(families,
                   {"cuckooguard_attack",
                    "1 while more keys without a row are read than by accident: above 10/s and "
                    "twice tolerate, over 5 s.",
                    Type::Gauge},
                   model,
                   [&](std::uint32_t ns) {
                     return model.guarded.namespaces[ns].counts->attack.is_on() ? 1.0 : 0.0;
                   });
  put_by_namespace(
      families,
      {"cuckooguard_namespace_fresh",
       "1 while absent keys can be answered: all filters are loaded and proven up to date.",
       Type::Gauge},
      model,
      [&](std::uint32_t ns) {
        return model.guarded.namespaces[ns].filter->is_fresh(model.now) ? 1.0 : 0.0;
      });
  put_by_namespace(
      families,
      {"cuckooguard_namespace_passing_seconds",
       "Remaining time for which all keys pass because earlier writes are not known, as "
       "after a start. 0: they do not pass for that reason.",
       Type::Gauge},
      model,
      [&](std::uint32_t ns) {
        const auto left = guard::passing(model.guarded.namespaces[ns], model.now).left;
        return left ? seconds_of(*left) : 0.0;
      });
  put_by_namespace(families,
                   {"cuckooguard_namespace_proof_age_seconds",
                    "Time since the namespace was last proven up to date.",
                    Type::Gauge},
                   model,
                   [&](std::uint32_t ns) -> std::optional<double> {
                     const auto age = model.proof_age(ns);
                     return age ? std::optional(seconds_of(*age)) : std::nullopt;
                   });
  put_modes_and_states(families, model);
}

// What became of keys that were taken for absent and of which Redis had a value.
void put_contradictions(MetricFamilies& families, const Model& model) {
  if (model.process.contradictions == nullptr) {
    return;
  }
  std::vector<guard::Contradictions::Counts> all;
  all.reserve(model.guarded.namespaces.size());
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    all.push_back(model.process.contradictions->counts(ns));
  }
  for (std::uint32_t ns = 0; ns < all.size(); ++ns) {
    for (std::size_t cause = 0; cause < guard::kCauses; ++cause) {
      families.put({"cuckooguard_contradictions_total",
                    "Keys judged absent for which Redis had a value, by what the source said of "
                    "them.",
                    Type::Counter},
                   all[ns].found.at(cause),
                   {{"namespace", model.guarded.keyspace.name(ns)},
                    {"cause", std::string(guard::kCauseNames.at(cause))}});
    }
  }
  put_by_namespace(families,
                   {"cuckooguard_contradictions_open",
                    "Contradicted keys about which the source has yet to be asked.",
                    Type::Gauge},
                   model,
                   [&](std::uint32_t ns) { return static_cast<double>(all[ns].open); });
  put_by_namespace(families,
                   {"cuckooguard_contradictions_dropped_total",
                    "Contradicted keys that were dropped because too many others were waiting.",
                    Type::Counter},
                   model,
                   [&](std::uint32_t ns) { return static_cast<double>(all[ns].dropped); });
}

void put_read_too_early(MetricFamilies& families, const Model& model) {
  const auto put = [&](auto count, const char* name, const char* help) {
    put_by_namespace(families, {name, help, Type::Counter}, model, [&](std::uint32_t ns) {
      return static_cast<double>((model.guarded.namespaces[ns].filter->absent_reads().*count)());
    });
  };
  put(&filter::AbsentReads::Findings::hidden,
      "cuckooguard_rows_hidden_by_lag_total",
      "Rows that were told to be absent, or would have been, just after their commit: a sample.");
  put(&filter::AbsentReads::Findings::early,
      "cuckooguard_rows_read_before_commit_total",
      "Rows of which the key was found absent before their commit, or at about it: a sample.");
}

void put_filters(MetricFamilies& families, const Model& model) {
  std::vector<FilterTotals> totals;
  for (const guard::GuardedNamespace& space : model.guarded.namespaces) {
    totals.push_back(guard::filter_totals(*space.filter));
  }
  for (const FilterMetric& metric : kFilters) {
    put_by_namespace(
        families, {metric.name, metric.help, Type::Gauge}, model, [&](std::uint32_t ns) {
          return metric.value(totals[ns]);
        });
  }
  put_by_namespace(families,
                   {"cuckooguard_filter_measured_false_positive_ratio",
                    "Share of absent keys that pass, measured with random keys.",
                    Type::Gauge},
                   model,
                   [&](std::uint32_t ns) {
                     return model.probe != nullptr ? model.probe->result(ns).rate() : std::nullopt;
                   });
  put_by_namespace(families,
                   {"cuckooguard_load_progress_ratio",
                    "Progress of the current load; 1 if none is running.",
                    Type::Gauge},
                   model,
                   [&](std::uint32_t ns) {
                     const auto load =
                         model.process_state.loads.of(model.guarded.keyspace.name(ns), model.now);
                     return load ? load->fraction : 1.0;
                   });
}

}  // namespace

std::string metrics_text(const Model& model) {
  MetricFamilies families;
  put_process(families, model);
  put_guard(families, model);
  put_reply_times(families, model);
  put_keys(families, model);
  put_namespaces(families, model);
  put_contradictions(families, model);
  put_read_too_early(families, model);
  put_filters(families, model);
  put_sources(families, model);
  put_nodes(families, model);
  put_filled(families, model);
  return families.text();
}

}  // namespace cuckooguard::views
