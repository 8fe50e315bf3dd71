#include "cli/recent_events.h"

#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/sinks/sink.h>
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

// What was said, however it is written.
class Ear final : public spdlog::sinks::sink {
 public:
  explicit Ear(std::shared_ptr<RecentEvents> events) : events_(std::move(events)) {
    set_level(spdlog::level::info);
  }
  void log(const spdlog::details::log_msg& message) override {
    events_->add(
        message.time, level_name(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}

 private:
  std::shared_ptr<RecentEvents> events_;
};

}  // namespace

void RecentEvents::hear(std::shared_ptr<RecentEvents> events, spdlog::logger& logger) {
  logger.sinks().push_back(std::make_shared<Ear>(std::move(events)));
}

std::shared_ptr<RecentEvents> RecentEvents::of_default_logger() {
  auto events = std::make_shared<RecentEvents>();
  hear(events, *spdlog::default_logger());
  return events;
}

std::vector<admin::Event> RecentEvents::after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, number, {}, &admin::Event::number);
  return {first, events_.end()};
}

void RecentEvents::add(std::chrono::system_clock::time_point time,
                       std::string_view level,
                       std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (events_.size() == kLinesMax) {
    events_.pop_front();
  }
  events_.push_back({.number = ++last_,
                     .time = std::chrono::floor<std::chrono::milliseconds>(time),
                     .level = level,
                     .text = std::string(text.substr(0, kLineBytesMax))});
}

}  // namespace cuckooguard::cli
