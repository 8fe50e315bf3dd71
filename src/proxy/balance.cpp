#include "proxy/balance.h"

#include <algorithm>

namespace cuckooguard::proxy {

std::optional<Balance::Move> Balance::look(std::span<const std::chrono::nanoseconds> worked,
                                           std::chrono::nanoseconds passed,
                                           std::uint64_t moves) {
  workers_.resize(worked.size());
  for (std::size_t i = 0; i < worked.size(); ++i) {
    Worker& worker = workers_[i];
    const auto busy =
        (worked[i] - worker.worked) * 1000 / std::max(passed, std::chrono::nanoseconds(1));
    worker.busy =
        (worker.busy + static_cast<unsigned>(std::clamp<std::int64_t>(busy, 0, 1000))) / 2;
    worker.worked = worked[i];
  }
  if (++looks_ == kMoveEvery) {
    looks_ = 0;
    budget_ = std::min(budget_ + 1, kMovesAtOnce);
  }
  if (moves != moves_) {
    budget_ -= static_cast<unsigned>(std::min<std::uint64_t>(moves - moves_, budget_));
    moves_ = moves;
    settles_ = kSettle;
  }
  if (settles_ > 0) {
    --settles_;
    return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax_element(workers_, {}, &Worker::busy);
  if (budget_ == 0 || workers_.empty() || most->busy < kBusy ||
      most->busy - least->busy < kDifference) {
    return std::nullopt;
  }
  return Move{.from = static_cast<std::size_t>(most - workers_.begin()),
              .to = static_cast<std::size_t>(least - workers_.begin()),
              .best = (most->busy - least->busy) * 1000 / most->busy / 2};
}

std::optional<unsigned> Balance::distance(unsigned share, unsigned best) {
  if (share < kShareLeast || share > best + best / 2) {
    return std::nullopt;
  }
  return share > best ? share - best : best - share;
}

}  // namespace cuckooguard::proxy
