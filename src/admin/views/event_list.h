// What the process has logged of late, as the page shows it.
//
// Threads: the implementation is thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::views {

struct Event {
  std::uint64_t number = 0;  // 1 is the first; never given twice
  std::chrono::sys_time<std::chrono::milliseconds> time{};
  std::string_view level{};  // a literal: info, warning, error
  std::string text{};        // "event=NAME key=value ...": as in the log
};

class EventList {
 public:
  // Those with a greater number, the oldest first; of many the latest.
  virtual std::vector<Event> after(std::uint64_t number) const = 0;

 protected:
  ~EventList() = default;
};

}  // namespace cuckooguard::views
