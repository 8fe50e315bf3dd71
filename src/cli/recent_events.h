// The log's last lines for the page (admin/event_list.h): info and above, as the log has them, so that keys are in them as
// little as they are in the log.
//
// Called by: Assembly makes it hear the default logger before there are other threads; whoever logs writes. Threads: any.
// Lifetimes: what hears the logger shares it. Errors: none. Limits: kLinesMax lines, kLineBytesMax of each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include "admin/event_list.h"

namespace cuckooguard::cli {

class RecentEvents final : public admin::EventList {
 public:
  static constexpr std::size_t kLinesMax = 200;
  static constexpr std::size_t kLineBytesMax = 1024;

  // Hears the default logger from now on.
  static std::shared_ptr<RecentEvents> of_default_logger();
  static void hear(std::shared_ptr<RecentEvents> events, spdlog::logger& logger);

  // `level`: a literal. `text`: "event=NAME key=value ...".
  void add(std::chrono::system_clock::time_point time,
           std::string_view level,
           std::string_view text);

  std::vector<admin::Event> after(std::uint64_t number) const override;

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<admin::Event> events_;
};

}  // namespace cuckooguard::cli
