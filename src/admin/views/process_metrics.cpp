#include "views/process_metrics.h"

#include <chrono>
#include <string>

#include "io/clock.h"
#include "views/process_use.h"

namespace cuckooguard::views {
namespace {

using Type = prometheus::MetricType;

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

}  // namespace

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

}  // namespace cuckooguard::views
