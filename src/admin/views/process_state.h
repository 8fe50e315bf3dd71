// What the process tells the admin pages of itself, beside what the guards count.
//
// Threads: the atomics any; the rest is complete before the first request.
// Lifetimes: outlives the pages; what the functions and the heartbeats refer to, too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "views/event_list.h"
#include "views/heartbeat.h"
#include "views/load_board.h"

namespace cuckooguard::views {

enum class RedisSeen : std::uint8_t { never, up, down };

// One that the guard shows to its clients or to Redis.
struct Certificate {
  std::string file;
  std::chrono::sys_seconds expires_at;
};

struct ProcessState {
  std::atomic<bool> is_listening{false};
  std::atomic<bool> is_draining{false};
  std::atomic<RedisSeen> redis{
      RedisSeen::never};  // by the control connection, which there is if there are namespaces
  std::vector<std::function<std::size_t()>> clients{};       // of each worker; any thread
  std::function<std::uint64_t()> refused_clients{};          // ever; any thread
  std::function<std::uint64_t()> dropped_log_lines{};        // ever; any thread
  std::function<std::vector<Certificate>()> certificates{};  // each file once; any thread
  std::vector<Heartbeat> heartbeats{};                       // the admin thread's
  LoadBoard loads{};
  const EventList* events = nullptr;  // null: nobody keeps them
};

}  // namespace cuckooguard::views
