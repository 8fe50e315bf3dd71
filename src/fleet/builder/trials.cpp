#include "builder/trials.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::fleet {

bool Trials::judge(Publisher& publisher, const Asks& asks, TimePoint now) {
  const std::uint64_t compared = asks.compared();
  std::map<TableId, Trial> all;
  for (const auto& [table, state] : publisher.published().tables) {
    if (state.is_on_trial && state.version != 0) {
      const auto known = all_.find(table);
      all[table] =
          known == all_.end() ? Trial{.began_at = now, .compared_before = compared} : known->second;
    }
  }
  all_ = std::move(all);
  publisher.set_trial_below(
      all_.empty() ? 0 : std::max(asks.trial_below(), publisher.published().trial_below));
  const bool hides = !all_.empty() && asks.hidden() > 0;
  const bool is_news = hides && !is_hiding_;
  is_hiding_ = hides;
  if (hides) {
    return is_news;
  }
  for (const auto& [table, trial] : all_) {
    const bool is_tried =
        now - trial.began_at >= canary_ && compared >= trial.compared_before + kComparedMin;
    if (is_tried || canary_ == std::chrono::nanoseconds::zero()) {
      publisher.promote(table);
    }
  }
  return false;
}

}  // namespace cuckooguard::fleet
