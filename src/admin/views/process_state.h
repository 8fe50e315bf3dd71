// The process's state for the admin pages, apart from the guards' counters.
//
// Threads: the atomics any; the rest is complete before the first request.
// Lifetimes: it, its functions and heartbeats outlive the pages.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guard/process.h"
#include "io/clock.h"

namespace cuckooguard::views {

// Recent log lines, for the page.
//
// Threads: the implementation is thread-safe.
struct Event {
  std::uint64_t number = 0;  // 1 is the first; never given twice
  std::chrono::sys_time<std::chrono::milliseconds> time{};
  std::string_view level{};  // a literal: info, warning, error
  std::string text{};        // "event=NAME key=value ...": as in the log
};

class EventList {
 public:
  // Those with a greater number, oldest first; only the latest if there are many.
  virtual std::vector<Event> after(std::uint64_t number) const = 0;

 protected:
  ~EventList() = default;
};

// Whether an event loop still turns: a task is posted to it, and must have run by the next check.
//
// A check posts one if none is pending; a stalled loop is detected by the first check kStalledAfter
// or more after that. There is no timer.
//
// Threads: is_alive() one; the task runs on the loop's. Lifetimes: the loop may outlive this, and
// the task may never run.
class Heartbeat {
 public:
  static constexpr std::chrono::seconds kStalledAfter{5};

  using Post = std::function<void(std::function<void()>)>;

  Heartbeat(std::string name, Post post) : name_(std::move(name)), post_(std::move(post)) {}

  const std::string& name() const { return name_; }
  bool is_alive(io::TimePoint now);

 private:
  std::string name_;
  Post post_;
  std::shared_ptr<std::atomic<bool>> has_arrived_;  // null: none was sent
  io::TimePoint sent_{};
};

// Progress of the loads, and how often each source had trouble.
//
// Threads: any; a lock is held only while a few numbers are copied. Limits: an entry per loading
// table, left out when not updated for kShownFor (the load was given up); a number per source that
// ever had trouble.
struct Load {
  std::uint64_t rows = 0;
  std::uint64_t rows_expected = 0;
  double rows_per_second = 0;
  double fraction = 0;  // 0 to 1
  std::optional<std::chrono::nanoseconds> remaining{};
};

class LoadBoard {
 public:
  static constexpr std::chrono::seconds kShownFor{10};

  // `what`: a namespace's name, or with several tables "users/user_3".
  void put(std::string_view what, const Load& load, io::TimePoint now);
  void remove(std::string_view what);

  // All tables of a namespace together; nothing if none is being loaded.
  std::optional<Load> of(std::string_view ns, io::TimePoint now) const;

  // Events source_trouble: a checkpoint that could not be written, and the like.
  void count_trouble(std::string_view source);
  std::uint64_t troubles(std::string_view source) const;

 private:
  struct Entry {
    Load load;
    io::TimePoint written;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> loads_;
  std::map<std::string, std::uint64_t, std::less<>> troubles_;  // by source
};

// One that the guard presents to clients or to Redis.
struct Certificate {
  std::string file;
  std::chrono::sys_seconds expires_at;
};

struct ProcessState {
  std::atomic<bool> is_listening{false};
  std::atomic<bool> is_draining{false};
  std::atomic<guard::NodeState> redis{
      guard::NodeState::never};  // by the control connection, if there is one
  std::vector<std::function<std::size_t()>> clients{};       // of each worker; any thread
  std::function<std::uint64_t()> refused_clients{};          // ever; any thread
  std::function<std::uint64_t()> moved_clients{};            // ever; any thread
  std::function<std::uint64_t()> dropped_log_lines{};        // ever; any thread
  std::function<std::vector<Certificate>()> certificates{};  // each file once; any thread
  std::vector<Heartbeat> heartbeats{};                       // the admin thread's
  LoadBoard loads{};
  const EventList* events = nullptr;  // null: not kept
};

}  // namespace cuckooguard::views
