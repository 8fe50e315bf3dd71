// The log: one line per event, on standard error by spdlog, as text or JSON, and to whoever else
// listens.
//
//   log.warning("upstream_down", {{"why", why}});
//
// The names are listed in event_names.h. Fields that name things of the configuration are called
// `namespace` and `source`: they are also what events are limited by (event_limits.h), so that one
// namespace in trouble does not silence another.
//
// Must: a healthy guard writes nothing at `info` once it has started (integration/logs_test.cpp); a
// Redis key, or a value out of one,
//       is written as its hash unless shows_keys().
// Threads: any, but add_listener(), which comes before there are several. Nobody waits for whoever
// reads standard error (background_sink.h).
// Lifetimes: outlives whoever writes. Errors: none; a line that cannot be written is lost.
// Cost: a lock and some text: for changes of state, never per command. Limits: event_limits.h,
// background_sink.h, kFieldBytesMax.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "config/config.h"
#include "log/event_limits.h"
#include "log/event_names.h"
#include "log/event_text.h"

namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming)
namespace sinks {
class sink;  // NOLINT(readability-identifier-naming)
}  // namespace sinks
}  // namespace spdlog

namespace cuckooguard::log {

class BackgroundSink;

class EventLog {
 public:
  using Fields = std::initializer_list<Field>;
  using Clock = std::function<EventLimits::TimePoint()>;
  // Called for each event that is written, at the log's end too, under its lock: it must neither
  // log nor wait.
  using Listener = std::function<void(const Event&)>;

  // To standard error.
  explicit EventLog(const config::Log& settings);
  EventLog(const config::Log& settings, std::shared_ptr<spdlog::sinks::sink> to, Clock clock);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();  // tells what was left out; a reader gets BackgroundSink::kPatience to read it

  void add_listener(Listener listener) { listeners_.push_back(std::move(listener)); }

  // Other settings from now on.
  void set(const config::Log& settings);
  // Whether Redis keys may be written as they are.
  bool shows_keys() const { return shows_keys_.load(std::memory_order_relaxed); }
  // Lines that nobody has read in time, ever. Any thread.
  std::uint64_t dropped() const;

  void debug(EventName name, Fields fields = {}) { write(config::LogLevel::debug, name, fields); }
  void info(EventName name, Fields fields = {}) { write(config::LogLevel::info, name, fields); }
  void warning(EventName name, Fields fields = {}) {
    write(config::LogLevel::warning, name, fields);
  }
  void error(EventName name, Fields fields = {}) { write(config::LogLevel::error, name, fields); }
  void write(config::LogLevel level, EventName name, std::span<const Field> fields);

 private:
  EventLog(const config::Log& settings, std::shared_ptr<BackgroundSink> to);
  void write_now(const Event& event);

  std::unique_ptr<spdlog::logger> logger_;
  std::shared_ptr<BackgroundSink> background_;  // what it writes to; null: to a test
  Clock clock_;
  std::vector<Listener> listeners_;
  std::atomic<config::LogLevel> level_{};
  std::atomic<bool> shows_keys_{};
  std::mutex mutex_;  // of all below, and so that lines and listeners have one order
  config::LogFormat format_{};
  EventLimits limits_;
};

}  // namespace cuckooguard::log
