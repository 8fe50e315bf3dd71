#include "cli/recent_events.h"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace cuckooguard::cli {
namespace {

std::string_view level_name(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::warn:
      return "warning";
    case spdlog::level::err:
    case spdlog::level::critical:
      return "error";
    default:
      return "info";
  }
}

}  // namespace

std::shared_ptr<RecentEvents> RecentEvents::of_default_logger() {
  auto events = std::make_shared<RecentEvents>();
  spdlog::default_logger()->sinks().push_back(events);
  return events;
}

std::vector<admin::Event> RecentEvents::after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, number, {}, &admin::Event::number);
  return {first, events_.end()};
}

void RecentEvents::log(const spdlog::details::log_msg& message) {
  const std::string_view text(message.payload.data(), message.payload.size());
  const std::lock_guard lock(mutex_);
  if (events_.size() == kLinesMax) {
    events_.pop_front();
  }
  events_.push_back({.number = ++last_,
                     .time = std::chrono::floor<std::chrono::milliseconds>(message.time),
                     .level = level_name(message.level),
                     .text = std::string(text.substr(0, kLineBytesMax))});
}

}  // namespace cuckooguard::cli
