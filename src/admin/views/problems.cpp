#include <algorithm>
#include <cmath>
#include <utility>

#include "guard/advice.h"
#include "guard/filter_totals.h"
#include "guard/trouble.h"
#include "text/grouped.h"
#include "text/words.h"
#include "views/status.h"

namespace cuckooguard::views {
namespace {

std::string counted(std::uint64_t number, std::string_view one, std::string_view several) {
  return text::grouped(number).append(" ").append(number == 1 ? one : several);
}

using text::joined;

// Of as many namespaces, or nodes, as have it in common.
struct Held {
  std::vector<std::string> names;
  guard::Trouble trouble;
};

void add_held(std::vector<Held>& all, const std::string& name, guard::Trouble trouble) {
  const auto same = std::ranges::find_if(all, [&](const Held& held) {
    return held.trouble.why == trouble.why && held.trouble.hint == trouble.hint;
  });
  if (same != all.end()) {
    same->names.push_back(name);
  } else {
    all.push_back({.names = {name}, .trouble = std::move(trouble)});
  }
}

constexpr std::string_view kMayNotAsk = "Redis denies the guard permissions that it needs";

void add_not_asked(std::vector<Problem>& all, const Model& model) {
  if (!model.guarded.namespaces.empty()) {
    all.push_back({.what = "Redis has not been queried yet",
                   .why = "the guard has just started",
                   .hint = "this ends automatically within moments; until then all keys pass"});
  }
}

void add_nodes_that_are_down(std::vector<Problem>& all,
                             const Model& model,
                             const guard::NodesStatus& status) {
  std::vector<std::string> down;
  for (const guard::NodeStatus& node : status.shown) {
    if (node.state == guard::NodeState::down) {
      down.push_back(node.address);
    }
  }
  const guard::NodeState seen = model.process_state.redis.load(std::memory_order_relaxed);
  if (seen == guard::NodeState::never) {
    add_not_asked(all, model);
  } else if (!down.empty()) {
    all.push_back(
        {.grade = seen == guard::NodeState::down ? Grade::bad : Grade::warning,
         .what = seen == guard::NodeState::down ? std::string("No Redis node is reachable")
                                                : "Unreachable Redis nodes: " + joined(down, ", "),
         .why = "the guard's own connection to them fails, and so do its clients' connections",
         .hint = "check that they are running and reachable from this machine; the guard "
                 "reconnects automatically"});
  }
}

void add_nodes(std::vector<Problem>& all, const Model& model) {
  const guard::NodesStatus status = model.process.nodes->nodes();
  std::vector<Held> held;
  for (const guard::NodeStatus& node : status.shown) {
    if (!node.control.why_keys_pass().empty()) {
      add_held(held, node.address, {.why = node.control.why, .hint = node.control.hint});
    }
  }
  for (Held& each : held) {
    all.push_back({.grade = Grade::bad,
                   .what = joined(each.names, ", ").append(": ").append(kMayNotAsk),
                   .why = std::move(each.trouble.why),
                   .hint = std::move(each.trouble.hint)});
  }
  add_nodes_that_are_down(all, model, status);
  if (!status.why_silent.empty()) {
    all.push_back({.grade = Grade::bad,
                   .what = "No node reports the topology of Redis",
                   .why = status.why_silent,
                   .hint = "check that the nodes are running and reachable from this machine, and "
                           "that the guard's user has +cluster|nodes +cluster|info; until then the "
                           "last known topology is used"});
  }
  if (status.without_port > 0) {
    all.push_back(
        {.what = counted(status.without_port, "node has", "nodes have") + " no port on the guard",
         .why = "the cluster has more nodes than listen.nodes has ports",
         .hint = "add ports to listen.nodes and restart the guard; until then clients are sent to "
                 "these nodes directly, without protection"});
  }
}

void add_redis(std::vector<Problem>& all, const Model& model) {
  const redis::ControlReport& control = model.redis.control;
  const guard::NodeState seen = model.process_state.redis.load(std::memory_order_relaxed);
  const bool is_down = seen == guard::NodeState::down;
  if (const std::string why = control.why_keys_pass(); !why.empty()) {
    all.push_back({.grade = Grade::bad,
                   .what = control.state == redis::ControlReport::State::unsupported
                               ? std::string("The guard cannot work with this Redis")
                               : std::string(kMayNotAsk),
                   .why = control.why,
                   .hint = control.hint});
  } else if (seen == guard::NodeState::never) {
    add_not_asked(all, model);
  } else if (auto trouble = guard::trouble_with(is_down && !model.redis.is_lost
                                                    ? redis::Snapshot{.is_lost = true}
                                                    : model.redis)) {
    all.push_back({.grade = is_down ? Grade::bad : Grade::warning,
                   .what = is_down               ? "Redis is unreachable"
                           : model.redis.is_lost ? "Redis does not respond"
                                                 : "Redis is not serving",
                   .why = std::move(trouble->why),
                   .hint = std::move(trouble->hint)});
  }
}

void add_hidden_rows(std::vector<Problem>& all, const Model& model, std::uint32_t ns) {
  const guard::Evidence seen = guard::evidence(model.guarded, ns, model.now);
  const std::uint64_t rows = seen.contradictions.of(guard::Cause::hidden_row);
  if (rows > 0) {
    all.push_back({.grade = Grade::bad,
                   .what = model.guarded.keyspace.name(ns) + ": " +
                           counted(rows, "existing row was", "existing rows were") +
                           " treated as absent",
                   .why = "for longer than max_lag the filter lacked rows that the source has",
                   .hint = std::string(guard::hint_of_hidden_rows(seen.mode))});
  }
  if (seen.mode == config::Mode::enforce && seen.hidden() > 0) {
    all.push_back({.grade = Grade::bad,
                   .what = model.guarded.keyspace.name(ns) + ": " +
                           counted(seen.hidden(), "row was", "rows were") +
                           " answered as absent just after the commit",
                   .why = "the database had committed rows that had not appeared in its log yet",
                   .hint = std::string(guard::hint_of_lag(seen))});
  }
}

// Of a rate one digit, so that the words stay as they are for as long as nothing much changes.
std::string about(double per_second) {
  const double digits = std::pow(10, std::floor(std::log10(std::max(per_second, 1.0))));
  return text::grouped(static_cast<std::uint64_t>(std::round(per_second / digits) * digits));
}

void add_attacks(std::vector<Problem>& all, const Model& model) {
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    const guard::GuardedNamespace& space = model.guarded.namespaces[ns];
    if (!space.counts->attack.is_on()) {
      continue;
    }
    const bool is_stopped =
        space.mode == config::Mode::enforce && guard::passing(space, model.now).why.empty();
    const std::string keys =
        joined(model.guarded.keyspace.templates(ns), ", ", &keyspace::KeyTemplate::text);
    all.push_back({.grade = is_stopped ? Grade::warning : Grade::bad,
                   .what = "Attack in progress: " + model.guarded.keyspace.name(ns),
                   .why = "peak of about " + about(space.counts->attack.peak()) +
                          " reads per second of keys without a row (" + keys + ")",
                   .hint = is_stopped
                               ? "the guard answers them, except for the tolerated rate; find out "
                                 "which clients send them"
                               : "they reach Redis, and possibly the database; mode: enforce "
                                 "answers them once the problems listed below are fixed"});
  }
}

void add_namespaces(std::vector<Problem>& all, const Model& model) {
  std::vector<Held> held;
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    const guard::GuardedNamespace& space = model.guarded.namespaces[ns];
    const std::string& name = model.guarded.keyspace.name(ns);
    add_hidden_rows(all, model, ns);
    if (space.mode == config::Mode::bypass) {
      continue;  // as somebody has wished
    }
    guard::Passing passes = guard::passing(space, model.now);
    if (!passes.why.empty()) {
      add_held(held, name, {.why = std::move(passes.why), .hint = std::move(passes.hint)});
    } else if (const guard::FilterTotals totals = guard::filter_totals(*space.filter);
               totals.full) {
      all.push_back({.what = name + ": its filter is full",
                     .why = "its capacity is " + text::grouped(totals.capacity) + " rows",
                     .hint = std::string(guard::hint_of(filter::State::full))});
    }
  }
  for (Held& each : held) {
    all.push_back({.what = joined(each.names, ", ") +
                           (each.names.size() == 1 ? " passes everything" : " pass everything"),
                   .why = std::move(each.trouble.why),
                   .hint = std::move(each.trouble.hint)});
  }
}

void add_complaints(std::vector<Problem>& all, const Model& model) {
  for (const auto& look : model.process.complaints) {
    if (auto found = look()) {
      all.push_back({.grade = found->is_grave ? Grade::bad : Grade::warning,
                     .what = std::move(found->what),
                     .why = std::move(found->why),
                     .hint = std::move(found->hint)});
    }
  }
}

void add_configuration(std::vector<Problem>& all, const Model& model) {
  if (model.process.reloads == nullptr) {
    return;
  }
  const guard::ReloadOutcome last = model.process.reloads->last();
  if (!last.errors.empty()) {
    const std::size_t more = last.errors.size() - 1;
    all.push_back(
        {.what = "Reload failed; the previous configuration stays active",
         .why = last.errors.front() +
                (more == 0 ? "" : ", and " + counted(more, "more error", "more errors")),
         .hint = "correct the file (cuckooguard --check-config lists all errors) and reload it"});
  }
  if (!last.needs_restart.empty()) {
    all.push_back({.what = "Part of the configuration is not active",
                   .why = joined(last.needs_restart, ", ") + " can change only with a restart",
                   .hint = "restart the guard at a convenient time"});
  }
}

void add_process(std::vector<Problem>& all, const Model& model, const ProcessUse& use) {
  constexpr double kMost = 0.9;
  if (use.descriptors_max > 0 && use.open_descriptors > kMost * use.descriptors_max) {
    all.push_back({.grade = Grade::bad,
                   .what = "File descriptors are running out",
                   .why = "more than nine tenths of " +
                          text::grouped(static_cast<std::uint64_t>(use.descriptors_max)) +
                          " are open, and each new client needs one",
                   .hint = "raise LimitNOFILE= of the service (ulimit -n), or lower "
                           "limits.max_clients"});
  }
  if (model.process_state.is_draining.load(std::memory_order_relaxed)) {
    all.push_back(
        {.what = "The guard is draining and refuses new clients",
         .why = "it received a signal and exits when its clients are done",
         .hint =
             "connect to another guard; remaining clients are disconnected after drain_timeout"});
  }
}

}  // namespace

std::vector<Problem> problems(const Model& model, const ProcessUse& use) {
  std::vector<Problem> all;
  if (model.process.nodes != nullptr) {
    add_nodes(all, model);
  } else {
    add_redis(all, model);
  }
  add_namespaces(all, model);
  add_complaints(all, model);
  add_configuration(all, model);
  add_process(all, model, use);
  std::ranges::stable_sort(all, {}, &Problem::grade);
  std::vector<Problem> attacks;
  add_attacks(attacks, model);
  all.insert(all.begin(), attacks.begin(), attacks.end());
  return all;
}

}  // namespace cuckooguard::views
