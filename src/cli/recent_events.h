// A sink of the log that keeps its last lines for the page (admin/event_log.h): info and above, as the log has them, so
// that keys are in them as little as they are in the log.
//
// Called by: Assembly makes it a sink of the default logger before there are other threads; whoever logs writes. Threads:
// any. Lifetimes: the logger shares it. Errors: none. Limits: kLinesMax lines, kLineBytesMax of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <spdlog/sinks/sink.h>

#include "admin/event_log.h"

namespace cuckooguard::cli {

class RecentEvents final : public spdlog::sinks::sink, public admin::EventLog {
 public:
  static constexpr std::size_t kLinesMax = 200;
  static constexpr std::size_t kLineBytesMax = 1024;

  // Made, and a sink of the default logger from now on.
  static std::shared_ptr<RecentEvents> of_default_logger();

  RecentEvents() { set_level(spdlog::level::info); }

  std::vector<admin::Event> after(std::uint64_t number) const override;

  void log(const spdlog::details::log_msg& message) override;
  void flush() override {}
  // It keeps what was said, not how it is written.
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<admin::Event> events_;
};

}  // namespace cuckooguard::cli
