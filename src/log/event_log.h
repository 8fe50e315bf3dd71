// The log: one line per event, on standard error, as text or JSON, and to further listeners.
//
//   log.warning("upstream_down", {{"why", why}});
//
// The names are listed in event_names.h. Fields that name things of the configuration are called
// `namespace` and `source`: they are also what events are limited by (EventLimits), so that one
// namespace in trouble does not silence another.
//
// Must: a healthy guard writes nothing at `info` once it has started (integration/logs_test.cpp); a
//       Redis key, or a value out of one, is written as its hash unless shows_keys().
// Threads: any, but add_listener(), which must come before there are several. No caller waits for
//   the reader of standard error (BackgroundSink).
// Lifetimes: outlives all that log. Errors: none; a line that cannot be written is lost.
// Cost: a lock and some text: for changes of state, never per command. Limits: those of
// EventLimits and BackgroundSink, kFieldBytesMax.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "log/event_names.h"
#include "log/event_text.h"

namespace cuckooguard::log {

class BackgroundSink;

// How many events of a kind are written: kEventsMax per kWindow and (name, subject), so that what
// goes wrong a thousand times a second does not fill a disk. What was left out is counted, and told
// with the next that is written.
//
// Threads: one at a time. Limits: kSubjectsMax pairs are known at a time; of those beyond, all
// subjects of a name are one.
class EventLimits {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::uint32_t kEventsMax = 10;
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr std::size_t kSubjectsMax = 4096;

  // nullopt: this one is to be left out. Else how many were, since the last that was written.
  std::optional<std::uint64_t> admit(std::string_view name,
                                     std::string_view subject,
                                     TimePoint now);

  // tell(name, count) of all that were left out and not told of yet.
  void take_suppressed(const std::function<void(std::string_view name, std::uint64_t count)>& tell);

 private:
  struct Window {
    std::string name;
    TimePoint ends_at{};
    std::uint32_t written = 0;
    std::uint64_t suppressed = 0;
  };

  Window& window_of(std::string_view name, std::string_view subject, TimePoint now);

  std::map<std::string, Window, std::less<>> windows_;  // by name and subject
};

class EventLog {
 public:
  using Fields = std::initializer_list<Field>;
  using Clock = std::function<EventLimits::TimePoint()>;
  // Called for each event that is written, at the log's end too, under its lock: it must neither
  // log nor wait.
  using Listener = std::function<void(const Event&)>;
  // Takes a line, with its end; under the log's lock, too.
  using Sink = std::function<void(std::string line)>;

  // To standard error.
  explicit EventLog(const config::Log& settings);
  EventLog(const config::Log& settings, Sink to, Clock clock);
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
  void write_now(const Event& event);

  std::unique_ptr<BackgroundSink> background_;  // null: a test reads the lines
  Sink to_;
  Clock clock_;
  std::vector<Listener> listeners_;
  std::atomic<config::LogLevel> level_{};
  std::atomic<bool> shows_keys_{};
  std::mutex mutex_;  // of all below, and so that lines and listeners have one order
  config::LogFormat format_{};
  EventLimits limits_;
};

}  // namespace cuckooguard::log
