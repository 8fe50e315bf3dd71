#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "guard/fact_table.h"
#include "io/clock.h"
#include "views/model.h"
#include "views/process_use.h"

namespace cuckooguard::views {
namespace {

using guard::FactSection;
using guard::FactTable;
using guard::FactValue;
using guard::in_json;

// Of several nodes `nodes` tells.
void add_redis(FactSection& process, const Model& model) {
  using State = redis::ControlReport::State;
  static constexpr std::array kControlNames{redis::name_of(State::allowed),
                                            redis::name_of(State::limited),
                                            redis::name_of(State::not_allowed),
                                            redis::name_of(State::unsupported)};
  const guard::NodeView* const nodes = model.process.nodes;
  const RedisSeen seen = model.process_state.redis.load(std::memory_order_relaxed);
  process.add(in_json("redis.up"),
              seen == RedisSeen::never ? FactValue() : FactValue(seen == RedisSeen::up));
  process.add(in_json("redis.role"), {});
  process.add(in_json("redis.state"), {});
  process.add(in_json("redis.control"), {});
  if (seen != RedisSeen::never && nodes == nullptr) {
    process.add(in_json("redis.role"), redis::role_name(model.redis));
    process.add(in_json("redis.state"),
                model.redis.is_lost ? "lost" : redis::name_of(model.redis.availability));
    add_control(process, "redis.control", model.redis.control);
  }
  if (!model.guarded.namespaces.empty()) {
    process.add({}, seen == RedisSeen::up)
        .metric("upstream_up", "1 while the control connection reaches Redis.");
    const State state = nodes != nullptr ? nodes->nodes().control() : model.redis.control.state;
    process.add({}, redis::name_of(state))
        .state("control_state",
               "1 for what the control connection's user is, of several nodes the worst: "
               "not_allowed to ask, so that keys pass; limited, at a smaller cost; allowed. "
               "unsupported: a Redis in cluster mode without upstream.cluster, or the other way "
               "round, so that all keys pass.",
               "state",
               kControlNames);
  }
}

void add_clients_and_files(FactTable& table, const ProcessState& state) {
  for (std::size_t worker = 0; worker < state.clients.size(); ++worker) {
    table.section({.json = "workers[]", .labels = {{"worker", std::to_string(worker)}}})
        .add(in_json("clients"), state.clients[worker]())
        .metric("clients", "Connected clients, by worker.");
  }
  if (state.certificates) {
    const auto now = io::wall_time().time_since_epoch();
    for (const Certificate& certificate : state.certificates()) {
      table.section({.labels = {{"file", certificate.file}}})
          .add({},
               std::chrono::duration<double>(certificate.expires_at.time_since_epoch() - now)
                   .count())
          .metric("certificate_remaining_seconds",
                  "Time until a certificate that the guard uses expires, by its file; negative: it "
                  "has expired.");
    }
  }
}

void add_process(FactSection& process, const Model& model, const ProcessUse& use) {
  process.add(in_json("draining"), model.process_state.is_draining.load());
  if (model.process_state.refused_clients) {
    process.add({}, model.process_state.refused_clients())
        .metric("refused_clients_total",
                "Clients that were refused because there were limits.max_clients of them.");
  }
  if (model.process_state.dropped_log_lines) {
    process.add({}, model.process_state.dropped_log_lines())
        .metric("log_dropped_lines_total",
                "Lines of the log that were dropped because nobody read standard error.");
  }
  process.add(in_json("process.cpu_seconds"), use.cpu_seconds)
      .metric("process_cpu_seconds_total", "User and system time.");
  process.add(in_json("process.resident_bytes"), use.resident_bytes)
      .metric("process_resident_memory_bytes", "Resident memory.");
  process.add({}, use.virtual_bytes).metric("process_virtual_memory_bytes", "Virtual memory.");
  process.add({}, use.start_time_seconds)
      .metric("process_start_time_seconds", "Start, since 1970.");
  process.add(in_json("process.open_descriptors"), use.open_descriptors)
      .metric("process_open_fds", "Open file descriptors.");
  process.add(in_json("process.descriptors_max"), use.descriptors_max)
      .metric("process_max_fds", "File descriptors there may be.");
}

void add_namespace(FactTable& table, const Model& model, std::uint32_t ns) {
  const std::string& name = model.guarded.keyspace.name(ns);
  FactSection& space =
      table.section({.name = name, .json = "namespaces", .labels = {{"namespace", name}}});
  space
      .add(in_json("measured_false_positive_rate"),
           model.probe != nullptr ? model.probe->result(ns).rate() : std::nullopt)
      .metric("filter_measured_false_positive_ratio",
              "Share of absent keys that pass, measured with random keys.");
  const auto load = model.process_state.loads.of(name, model.now);
  space.add({}, load ? load->fraction : 1.0)
      .metric("load_progress_ratio", "Progress of the current load; 1 if none is running.");
  if (load) {
    space.add(in_json("loading.rows"), load->rows);
    space.add(in_json("loading.rows_expected"), load->rows_expected);
    space.add(in_json("loading.rows_per_second"), load->rows_per_second);
    space.add(in_json("loading.fraction"), load->fraction);
    space.add(in_json("loading.remaining_seconds"), load->remaining);
  }
}

}  // namespace

guard::FactTable facts_of(const Model& model, const ProcessUse& use) {
  FactTable table({.guarded = model.guarded,
                   .process = &model.process,
                   .guards = model.process.guards,
                   .redis = model.redis,
                   .now = model.now});
  FactSection& process = table.section({});
  add_clients_and_files(table, model.process_state);
  add_redis(process, model);
  add_process(process, model, use);
  for (std::uint32_t ns = 0; ns < model.guarded.namespaces.size(); ++ns) {
    add_namespace(table, model, ns);
  }
  const guard::SourceView* const sources = model.process.sources;
  for (std::size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    const std::string name(sources->name(i));
    table.section({.labels = {{"source", name}}})
        .add({}, model.process_state.loads.troubles(name))
        .metric("source_troubles_total",
                "How often the source had trouble, such as a checkpoint that cannot be written.");
  }
  return table;
}

}  // namespace cuckooguard::views
