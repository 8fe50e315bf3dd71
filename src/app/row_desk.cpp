#include "app/row_desk.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::app {

using source::RowAnswer;

RowDesk::All::iterator RowDesk::find(const guard::RowQuestion& question) {
  return std::ranges::find(all_, question, &Asked::question);
}

void RowDesk::forget_late() {
  const auto now = clock_();
  std::erase_if(all_, [now](Asked& each) {
    const bool is_late = now - each.question.since >= kWithin;
    if (is_late) {
      each.stop.request_stop();
    }
    return is_late;
  });
}

std::optional<RowAnswer> RowDesk::ask(const guard::RowQuestion& question) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = find(question); found != all_.end() && found->answer) {
    std::optional<RowAnswer> answer = std::move(found->answer);
    all_.erase(found);
    return answer;
  }
  forget_late();
  if (find(question) != all_.end()) {
    return std::nullopt;
  }
  if (clock_() - question.since >= kWithin) {
    return RowAnswer{.why = "the builder's database did not respond in time"};
  }
  if (all_.size() >= kWaitingMax) {
    return RowAnswer{.why = "the builder has too many row look-ups in flight"};
  }
  all_.push_back({.question = question});
  asked_.notify_all();
  return std::nullopt;
}

void RowDesk::serve(const LookUp& look_up,
                    std::chrono::nanoseconds wait,
                    const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto next = [this] {
    return std::ranges::find_if(all_, [](const Asked& each) { return !each.answer; });
  };
  if (!asked_.wait_for(lock, stop, wait, [&] { return next() != all_.end(); })) {
    return;
  }
  Asked asked = *next();
  lock.unlock();
  RowAnswer answer;
  {
    const std::stop_callback ends(stop, [&asked] { asked.stop.request_stop(); });
    answer = look_up(asked.question, asked.stop.get_token());
  }
  lock.lock();
  if (const auto found = find(asked.question); found != all_.end()) {
    found->answer = std::move(answer);
  }
}

}  // namespace cuckooguard::app
