#include "log/event_limits.h"

#include <utility>

namespace cuckooguard::log {

std::optional<std::uint64_t> EventLimits::admit(std::string_view name,
                                                std::string_view subject,
                                                TimePoint now) {
  Window& window = window_of(name, subject, now);
  if (now >= window.ends_at) {
    window.ends_at = now + kWindow;
    window.written = 0;
  }
  if (window.written == kEventsMax) {
    ++window.suppressed;
    return std::nullopt;
  }
  ++window.written;
  return std::exchange(window.suppressed, 0);
}

EventLimits::Window& EventLimits::window_of(std::string_view name,
                                            std::string_view subject,
                                            TimePoint now) {
  std::string key = std::string(name).append(1, '\n').append(subject);
  auto found = windows_.find(key);
  if (found == windows_.end() && windows_.size() >= kSubjectsMax) {
    std::erase_if(windows_, [now](const auto& entry) {
      return now >= entry.second.ends_at && entry.second.suppressed == 0;
    });
    if (windows_.size() >= kSubjectsMax) {
      key.resize(name.size());
    }
    found = windows_.find(key);
  }
  if (found == windows_.end()) {
    found = windows_.emplace(std::move(key), Window{.name = std::string(name)}).first;
  }
  return found->second;
}

void EventLimits::take_suppressed(
    const std::function<void(std::string_view name, std::uint64_t count)>& tell) {
  for (auto& [key, window] : windows_) {
    if (const std::uint64_t count = std::exchange(window.suppressed, 0); count > 0) {
      tell(window.name, count);
    }
  }
}

}  // namespace cuckooguard::log
