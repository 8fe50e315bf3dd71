#include "views/status.h"

#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "guard/advice.h"
#include "guard/filled.h"
#include "guard/filter_totals.h"
#include "guard/passing.h"
#include "guard/trouble.h"
#include "keyspace/printable.h"
#include "views/process_use.h"
#include "views/totals.h"

namespace cuckooguard::views {
namespace {

namespace json = boost::json;

constexpr std::size_t kTextBytesMax = 1024;

// A database's words may be in any encoding: what is no UTF-8, which the serializer would not find
// out, is escaped.
json::value text_of(const std::string& text) {
  json::error_code error;
  json::value value(text);
  json::parse(json::serialize(value), error);
  return error ? json::value(keyspace::printable(text, kTextBytesMax)) : value;
}

json::value seconds_of(const std::optional<std::chrono::nanoseconds>& time) {
  return time ? json::value(std::chrono::duration<double>(*time).count()) : json::value(nullptr);
}

json::value control_of(const redis::ControlReport& control) {
  return json::object{{"state", redis::name_of(control.state)},
                      {"why", text_of(control.why)},
                      {"hint", text_of(control.hint)},
                      {"why_keys_pass", text_of(control.why_keys_pass())}};
}

// Of several nodes `nodes` tells.
json::value redis_of(const Model& model) {
  const RedisSeen seen = model.process_state.redis.load(std::memory_order_relaxed);
  if (seen == RedisSeen::never) {
    return json::object{
        {"up", nullptr}, {"role", nullptr}, {"state", nullptr}, {"control", nullptr}};
  }
  if (model.process.nodes != nullptr) {
    return json::object{
        {"up", seen == RedisSeen::up}, {"role", nullptr}, {"state", nullptr}, {"control", nullptr}};
  }
  const auto role = redis::role_name(model.redis);
  return json::object{
      {"up", seen == RedisSeen::up},
      {"role", role ? json::value(*role) : json::value(nullptr)},
      {"state",
       model.redis.is_lost ? std::string_view("lost") : redis::name_of(model.redis.availability)},
      {"control", control_of(model.redis.control)}};
}

json::value nodes_of(const Model& model) {
  if (model.process.nodes == nullptr) {
    return nullptr;
  }
  const guard::NodesStatus status = model.process.nodes->nodes();
  json::array all;
  for (const guard::NodeStatus& node : status.shown) {
    all.push_back(
        json::object{{"address", node.address},
                     {"port", node.port == 0 ? json::value(nullptr) : json::value(node.port)},
                     {"role", name_of(node.role)},
                     {"slots", node.slots},
                     {"state", name_of(node.state)},
                     {"latency", seconds_of(node.round_trip)},
                     {"control", control_of(node.control)}});
  }
  return json::object{{"all", std::move(all)},
                      {"without_port", status.without_port},
                      {"told_seconds_ago", seconds_of(model.now - status.told_at)},
                      {"silent", text_of(status.why_silent)}};
}

json::value keys_of(const Model& model, std::uint32_t ns) {
  json::object keys;
  for (std::size_t i = 1; i < guard::kVerdicts; ++i) {  // none is counted as unguarded
    keys[name_of(static_cast<guard::Verdict>(i))] =
        model.sum(ns, [i](const guard::NamespaceCounters& counters) -> const guard::Counter& {
          return counters.keys.at(i);
        });
  }
  return keys;
}

json::value contradictions_of(const guard::Evidence& seen) {
  const guard::Contradictions::Counts& counts = seen.contradictions;
  return json::object{{"hidden_rows", counts.of(guard::Cause::hidden_row)},
                      {"hidden_values", counts.of(guard::Cause::hidden_value)},
                      {"late_rows", counts.of(guard::Cause::late_row)},
                      {"unknown", counts.of(guard::Cause::unknown) + counts.dropped},
                      {"open", counts.open}};
}

// What the log has shown of reads that were absent.
json::value read_too_early_of(const guard::Evidence& seen) {
  return json::object{{"before_commit", seen.log.before_commit},
                      {"at_commit", seen.log.at_commit},
                      {"hidden_by_lag", seen.log.hidden_by_lag},
                      {"hidden_in_spite_of_proof", seen.log.hidden_in_spite_of_proof}};
}

json::value attack_of(const Model& model, std::uint32_t ns) {
  const guard::AttackWatch& attack = model.guarded.namespaces[ns].counts->attack;
  return attack.is_on() ? json::value{{"seconds", seconds_of(model.now - attack.began_at())},
                                      {"peak_per_second", attack.peak()},
                                      {"keys", attack.reads()}}
                        : json::value(nullptr);
}

json::value loading_of(const Model& model, std::uint32_t ns) {
  const auto load = model.process_state.loads.of(model.guarded.keyspace.name(ns), model.now);
  return load ? json::value{{"rows", load->rows},
                            {"rows_expected", load->rows_expected},
                            {"rows_per_second", load->rows_per_second},
                            {"fraction", load->fraction},
                            {"remaining_seconds", seconds_of(load->remaining)}}
              : json::value(nullptr);
}

json::value namespace_of(const Model& model, std::uint32_t ns) {
  const guard::GuardedNamespace& space = model.guarded.namespaces[ns];
  const guard::FilterTotals totals = guard::filter_totals(*space.filter);
  const auto sum = [&](const guard::Counter guard::NamespaceCounters::* counter) {
    return model.sum(ns, [&](const guard::NamespaceCounters& counters) -> const guard::Counter& {
      return counters.*counter;
    });
  };
  const guard::Trouble all_pass = why_all_pass(model, ns);
  const bool has_origin = ns < model.process.origins.size();
  const guard::Evidence seen = guard::evidence(model.guarded, ns, model.now);
  const auto measured = model.probe != nullptr ? model.probe->result(ns).rate() : std::nullopt;
  return json::object{
      {"mode", config::name_of(space.mode)},
      {"db", space.db},
      {"state", filter::state_name(space.filter->state())},
      {"fresh", space.filter->is_fresh(model.now)},
      {"why", text_of(all_pass.why)},
      {"hint", text_of(all_pass.hint)},
      {"passing_seconds", seconds_of(guard::passing(space, model.now).left)},
      {"order", config::name_of(space.order)},
      {"consistency", space.is_strict() ? "strict" : "max_lag"},
      {"tolerate_per_second", space.tolerance->rate()},
      {"source", has_origin ? json::value(model.process.origins[ns].source) : json::value()},
      {"proven_seconds_ago", seconds_of(model.proof_age(ns))},
      {"filter_format", text_of(std::string(totals.format))},
      {"filter_hashes", totals.hashes},
      {"tables", totals.tables},
      {"rows", totals.items},
      {"isolated_rows", totals.isolated},
      {"capacity", totals.capacity},
      {"load", totals.load()},
      {"expected_false_positive_rate", totals.false_positive_rate},
      {"measured_false_positive_rate", measured ? json::value(*measured) : json::value(nullptr)},
      {"bytes", totals.bytes},
      {"full", totals.full},
      {"loading", loading_of(model, ns)},
      {"keys", keys_of(model, ns)},
      {"absent_keys_per_second", space.counts->attack.rate()},
      {"attack", attack_of(model, ns)},
      {"keys_learned", sum(&guard::NamespaceCounters::learned)},
      {"keys_added", sum(&guard::NamespaceCounters::added)},
      {"keys_lost", sum(&guard::NamespaceCounters::lost)},
      {"keys_replaced", sum(&guard::NamespaceCounters::replaced)},
      {"forecast",
       json::object{{"answered", sum(&guard::NamespaceCounters::forecast_answered)},
                    {"passed", sum(&guard::NamespaceCounters::forecast_passed)}}},
      {"contradictions", contradictions_of(seen)},
      {"read_too_early", read_too_early_of(seen)},
      {"unmatched", seen.is_unmatched()},
      {"advice", text_of(guard::advice(seen))}};
}

json::value configuration_of(const Model& model) {
  if (model.process.reloads == nullptr) {
    return nullptr;
  }
  const guard::ReloadOutcome last = model.process.reloads->last();
  json::array errors;
  for (const std::string& error : last.errors) {
    errors.push_back(text_of(error));
  }
  json::array needs_restart;
  for (const std::string& setting : last.needs_restart) {
    needs_restart.push_back(text_of(setting));
  }
  return json::object{{"loaded_at", last.loaded_at.time_since_epoch().count()},
                      {"last_reload_successful", last.errors.empty()},
                      {"errors", std::move(errors)},
                      {"needs_restart", std::move(needs_restart)}};
}

json::value source_of(const guard::SourceStatus& status, guard::TimePoint now) {
  const auto age = status.proven_at
                       ? std::optional<std::chrono::nanoseconds>(now - *status.proven_at)
                       : std::nullopt;
  const guard::Trouble trouble = guard::trouble_with(status).value_or(guard::Trouble());
  return json::object{
      {"type", status.type},
      {"state", name_of(status.state)},
      {"why", text_of(trouble.why)},
      {"hint", text_of(trouble.hint)},
      {"position", status.position.empty() ? json::value() : text_of(status.position)},
      {"proven_seconds_ago", seconds_of(age)},
      {"losses", status.losses},
      {"log_retained", status.log_retained ? json::value(*status.log_retained) : json::value()},
      {"flush_transactions",
       status.flush_transactions ? json::value(*status.flush_transactions) : json::value()},
      {"flush_transactions_per_hour", status.flush_transactions_per_hour}};
}

json::value log_of(const std::optional<filled::LogStatus>& log, guard::TimePoint now) {
  if (!log) {
    return nullptr;
  }
  const auto age = log->snapshot_at
                       ? std::optional<std::chrono::nanoseconds>(now - *log->snapshot_at)
                       : std::nullopt;
  return json::object{{"state", name_of(log->state)},
                      {"why", text_of(log->why)},
                      {"generation", text_of(log->generation)},
                      {"seq", log->seq},
                      {"snapshot_seq", log->snapshot_seq},
                      {"snapshot_seconds_ago", seconds_of(age)},
                      {"waiting", log->waiting},
                      {"skipped", log->skipped},
                      {"rereads", log->rereads}};
}

json::value filled_of(const Model& model) {
  if (model.guarded.filled == nullptr) {
    return nullptr;
  }
  const guard::Filled& filled = *model.guarded.filled;
  const guard::Filled::Parts& parts = filled.parts();
  const filled::Filters::Totals totals = parts.filters.totals();
  const bool is_current = parts.store.is_current(model.now);
  json::object changes;
  for (std::size_t i = 0; i < guard::FilledCounts::kNames.size(); ++i) {
    changes[guard::FilledCounts::kNames.at(i)] = filled.counts().of(i);
  }
  json::array shown;
  for (const guard::Filled::Shown& filter : filled.shown(kFiltersShown)) {
    shown.push_back(
        json::object{{"key", text_of(filter.key)},
                     {"name", filter.name.empty() ? json::value() : text_of(filter.name)},
                     {"kind", name_of(filter.shape.kind)},
                     {"ready", is_current && !filter.is_unsure},
                     {"items", filter.facts.items},
                     {"capacity", filter.facts.capacity},
                     {"layers", filter.facts.layers},
                     {"bytes", filter.facts.bytes},
                     {"false_positive_rate", filter.shape.false_positive_rate},
                     {"expires_seconds", seconds_of(filter.expires_in)}});
  }
  return json::object{{"count", totals.filters},
                      {"items", totals.items},
                      {"bytes", totals.bytes - totals.unsure_bytes},
                      {"unsure", totals.unsure},
                      {"max_filters", parts.settings.max_filters},
                      {"max_memory", parts.settings.max_memory},
                      {"durability", config::name_of(parts.settings.durability)},
                      {"ready", is_current},
                      {"changes", std::move(changes)},
                      {"log", log_of(parts.store.log(), model.now)},
                      {"shown", std::move(shown)}};
}

json::value problems_of(const Model& model, const ProcessUse& use) {
  json::array all;
  for (const Problem& problem : problems(model, use)) {
    all.push_back(json::object{{"grade", name_of(problem.grade)},
                               {"what", text_of(problem.what)},
                               {"why", text_of(problem.why)},
                               {"hint", text_of(problem.hint)}});
  }
  return all;
}

json::value process_of(const ProcessUse& use) {
  return json::object{{"cpu_seconds", use.cpu_seconds},
                      {"resident_bytes", use.resident_bytes},
                      {"open_descriptors", use.open_descriptors},
                      {"descriptors_max", use.descriptors_max}};
}

json::value unchecked_reads(const Model& model) {
  const auto sum = [&](const guard::Counter guard::GuardCounters::* counter) {
    return model.sum([&](const guard::Guard& guard) -> const guard::Counter& {
      return guard.counters().*counter;
    });
  };
  return json::object{{"unsettled", sum(&guard::GuardCounters::unsettled_reads)},
                      {"not_allowed", sum(&guard::GuardCounters::not_allowed_reads)},
                      {"redis_unavailable", sum(&guard::GuardCounters::unavailable_reads)},
                      {"other_node", sum(&guard::GuardCounters::other_node_reads)},
                      {"no_room", sum(&guard::GuardCounters::no_room_reads)}};
}

json::value reply_time_bounds() {
  json::array bounds;
  for (const std::chrono::microseconds bound : guard::ReplyTimes::kBounds) {
    bounds.push_back(std::chrono::duration<double>(bound).count());
  }
  return bounds;
}

json::value events_of(const Model& model, std::uint64_t after) {
  json::array events;
  if (model.process_state.events != nullptr) {
    for (const Event& event : model.process_state.events->after(after)) {
      events.push_back(
          json::object{{"number", event.number},
                       {"time", static_cast<double>(event.time.time_since_epoch().count()) / 1000},
                       {"level", event.level},
                       {"text", text_of(event.text)}});
    }
  }
  return events;
}

}  // namespace

std::string status_json(const Model& model, std::uint64_t events_after) {
  json::array workers;
  for (const auto& clients : model.process_state.clients) {
    workers.push_back(json::object{{"clients", clients()}});
  }
  json::object namespaces;
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    namespaces[model.guarded.keyspace.name(ns)] = namespace_of(model, ns);
  }
  json::object sources;
  const guard::SourceView* const view = model.process.sources;
  for (std::size_t i = 0; view != nullptr && i < view->size(); ++i) {
    sources[view->name(i)] = source_of(view->status(i), model.now);
  }
  const auto uptime =
      std::chrono::floor<std::chrono::seconds>(model.now - model.process.started_at);
  const ProcessUse use = process_use();
  return json::serialize(json::object{{"version", model.process.version},
                                      {"uptime_seconds", uptime.count()},
                                      {"draining", model.process_state.is_draining.load()},
                                      {"problems", problems_of(model, use)},
                                      {"configuration", configuration_of(model)},
                                      {"workers", std::move(workers)},
                                      {"process", process_of(use)},
                                      {"redis", redis_of(model)},
                                      {"nodes", nodes_of(model)},
                                      {"totals", json_of(totals_of(model))},
                                      {"reply_time_bounds", reply_time_bounds()},
                                      {"unchecked_reads", unchecked_reads(model)},
                                      {"namespaces", std::move(namespaces)},
                                      {"sources", std::move(sources)},
                                      {"filters", filled_of(model)},
                                      {"events", events_of(model, events_after)}}) +
         "\n";
}

}  // namespace cuckooguard::views
