// The log's last events for the page (views/event_list.h): those that are written, at info and
// above, but never a key, even where the log shows them.
//
// Threads: any. Lifetimes: the log shares it. Limits: kLinesMax events, kLineBytesMax of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "log/event_log.h"
#include "views/event_list.h"

namespace cuckooguard::app {

class RecentEvents final : public views::EventList {
 public:
  static constexpr std::size_t kLinesMax = 200;
  static constexpr std::size_t kLineBytesMax = 1024;

  // Hears this log from now on.
  static std::shared_ptr<RecentEvents> of(log::EventLog& log);

  std::vector<views::Event> after(std::uint64_t number) const override;

 private:
  void hear(const log::Event& event);

  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<views::Event> events_;
};

}  // namespace cuckooguard::app
