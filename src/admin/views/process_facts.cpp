#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

#include "guard/fact_table.h"
#include "io/clock.h"
#include "views/model.h"

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
  const guard::NodeState seen = model.process_state.redis.load(std::memory_order_relaxed);
  process.add(
      in_json("redis.up"),
      seen == guard::NodeState::never ? FactValue() : FactValue(seen == guard::NodeState::up));
  process.add(in_json("redis.role"), {});
  process.add(in_json("redis.state"), {});
  process.add(in_json("redis.control"), {});
  if (seen != guard::NodeState::never && nodes == nullptr) {
    process.add(in_json("redis.role"), redis::role_name(model.redis));
    process.add(in_json("redis.state"),
                model.redis.is_lost ? "lost" : redis::name_of(model.redis.availability));
    add_control(process, "redis.control", model.redis.control);
  }
  if (!model.guarded.namespaces.empty()) {
    process.add({}, seen == guard::NodeState::up)
        .metric("upstream_up", "1 while the control connection reaches Redis.");
    const State state = nodes != nullptr ? nodes->nodes().control() : model.redis.control.state;
    process.add({}, redis::name_of(state))
        .state("control_state",
               "1 for the current permissions of the control connection's user (with several nodes "
               "the worst): allowed; limited: some are missing, at a small cost; not_allowed, so "
               "that keys pass; "
               "unsupported: cluster mode of Redis and upstream.cluster do not match, so that all "
               "keys pass.",
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
          .metric(
              "certificate_remaining_seconds",
              "Time until a certificate in use expires, by file; negative after it has expired.");
    }
  }
}

void add_process(FactSection& process, const Model& model, const ProcessUse& use) {
  process.add(in_json("draining"), model.process_state.is_draining.load());
  if (model.process_state.refused_clients) {
    process.add({}, model.process_state.refused_clients())
        .metric("refused_clients_total", "Clients refused because limits.max_clients was reached.");
  }
  if (model.process_state.moved_clients) {
    process.add({}, model.process_state.moved_clients())
        .metric("moved_clients_total",
                "Clients moved from a busy worker to one that was much less busy.");
  }
  if (model.process_state.dropped_log_lines) {
    process.add({}, model.process_state.dropped_log_lines())
        .metric("log_dropped_lines_total",
                "Log lines dropped because the reader of standard error was too slow.");
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
      .metric("process_max_fds", "Maximum number of open file descriptors.");
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
      .metric("load_progress_ratio", "Progress of the current load; 1 if no load is running.");
  if (load) {
    space.add(in_json("loading.rows"), load->rows);
    space.add(in_json("loading.rows_expected"), load->rows_expected);
    space.add(in_json("loading.rows_per_second"), load->rows_per_second);
    space.add(in_json("loading.fraction"), load->fraction);
    space.add(in_json("loading.remaining_seconds"), load->remaining);
  }
}

double seconds_of(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
}

double now_of(clockid_t clock) {
  constexpr double kNano = 1e-9;
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNano;
}

// proc(5), /proc/pid/stat: the program's name, in parentheses, may have anything in it; field 22 is
// the start.
double started_seconds_since_boot() {
  constexpr int kFieldsBetween = 19;
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::size_t at = name_end + 1;
  for (int i = 0; i < kFieldsBetween && at != std::string::npos; ++i) {
    at = line.find(' ', at + 1);
  }
  return at == std::string::npos
             ? 0
             : std::stod(line.substr(at)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
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
        .metric(
            "source_troubles_total",
            "Number of problems of the source, such as a checkpoint that could not be written.");
  }
  return table;
}

ProcessUse process_use() {
  ProcessUse use;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    use.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::ifstream memory("/proc/self/statm");
  if (memory >> use.virtual_bytes >> use.resident_bytes) {
    use.virtual_bytes *= page;
    use.resident_bytes *= page;
  }
  use.start_time_seconds =
      now_of(CLOCK_REALTIME) - now_of(CLOCK_BOOTTIME) + started_seconds_since_boot();
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (!error) {
    use.open_descriptors = static_cast<double>(std::distance(begin(descriptors), end(descriptors)));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    use.descriptors_max = static_cast<double>(limit.rlim_cur);
  }
  return use;
}

}  // namespace cuckooguard::views
