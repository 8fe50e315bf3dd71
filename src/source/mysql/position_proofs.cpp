#include "mysql/position_proofs.h"

#include <utility>

namespace cuckooguard::source {

void PositionProofs::begin_at(LogPosition position) {
  last_proven_ = std::move(position);
  unproven_.clear();
}

bool PositionProofs::add(TimePoint at, const LogPosition& position) {
  const LogPosition& before = unproven_.empty() ? last_proven_ : unproven_.back().position;
  if (!position.covers(before)) {
    unproven_.clear();
    return false;
  }
  if (unproven_.size() == kUnprovenMax) {
    unproven_.pop_front();
  }
  unproven_.push_back({.at = at, .position = position});
  return true;
}

std::optional<TimePoint> PositionProofs::take_proven(const LogPosition& applied) {
  std::optional<TimePoint> proven;
  while (!unproven_.empty() && applied.covers(unproven_.front().position)) {
    proven = unproven_.front().at;
    last_proven_ = std::move(unproven_.front().position);
    unproven_.pop_front();
  }
  return proven;
}

}  // namespace cuckooguard::source
