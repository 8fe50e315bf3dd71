#include "app/recent_events.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace cuckooguard::app {

std::shared_ptr<RecentEvents> RecentEvents::of(log::EventLog& log) {
  auto events = std::make_shared<RecentEvents>();
  log.add_listener([events](const log::Event& event) { events->hear(event); });
  return events;
}

std::vector<admin::Event> RecentEvents::after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, number, {}, &admin::Event::number);
  return {first, events_.end()};
}

void RecentEvents::hear(const log::Event& event) {
  if (event.level < config::LogLevel::info) {
    return;
  }
  std::vector<log::Field> fields;
  std::ranges::copy_if(event.fields, std::back_inserter(fields), [](const log::Field& field) {
    return field.name() != "key";
  });
  std::string text = log::text_of(
      {.time = event.time, .level = event.level, .name = event.name, .fields = fields});
  text.resize(std::min(text.size(), kLineBytesMax));
  const std::lock_guard lock(mutex_);
  if (events_.size() == kLinesMax) {
    events_.pop_front();
  }
  events_.push_back({.number = ++last_,
                     .time = std::chrono::floor<std::chrono::milliseconds>(event.time),
                     .level = log::level_name(event.level),
                     .text = std::move(text)});
}

}  // namespace cuckooguard::app
