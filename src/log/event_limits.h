// How many events of a kind are written: kEventsMax per kWindow and (name, subject), so that what
// goes wrong a thousand times a second does not fill a disk. What was left out is counted, and told
// with the next that is written.
//
// Threads: one at a time. Limits: kSubjectsMax pairs are known at a time; of those beyond, all
// subjects of a name are one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::log {

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

}  // namespace cuckooguard::log
