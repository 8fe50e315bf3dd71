#include "source/growth_window.h"

#include <algorithm>
#include <limits>

namespace cuckooguard::source {

std::uint64_t GrowthWindow::next(std::uint64_t largest,
                                 std::chrono::nanoseconds elapsed,
                                 bool grows) {
  if (wanted_.kind != config::FreshIds::Kind::automatic) {
    return wanted_.kind == config::FreshIds::Kind::window ? wanted_.window : 0;
  }
  if (!grows) {
    return 0;
  }
  std::uint64_t inserts = largest_ && largest > *largest_ ? largest - *largest_ : 0;
  const double lags = elapsed / std::chrono::duration<double>(max_lag_);
  if (lags > 1) {  // within one max_lag all of them count, over a longer time their average
    inserts = static_cast<std::uint64_t>(static_cast<double>(inserts) / lags);
  }
  largest_ = largest;
  inserts_per_lag_ = std::max(inserts, inserts_per_lag_ / 2);
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return inserts_per_lag_ > kMost / kTimesInserts
             ? kMost
             : std::max(kIdsMin, kTimesInserts * inserts_per_lag_);
}

}  // namespace cuckooguard::source
