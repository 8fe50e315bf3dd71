#include "filter/live_filter.h"

#include <stdexcept>
#include <utility>

namespace cuckooguard::filter {

const char* state_name(State state) noexcept {
  switch (state) {
    case State::loading:
      return "loading";
    case State::ready:
      return "ready";
    case State::lagging:
      return "lagging";
    case State::unsynced:
      return "unsynced";
    case State::full:
      return "full";
    case State::refused:
      return "refused";
    case State::down:
      break;
  }
  return "down";
}

const IsolatedRows LiveFilter::kNoneIsolated;

LiveFilter::~LiveFilter() = default;

TimePoint LiveFilter::fresh_until() const noexcept {
  return TimePoint(TimePoint::duration(fresh_until_.load(std::memory_order_acquire)));
}

void LiveFilter::prove(TimePoint at, std::chrono::nanoseconds lag) {
  fresh_until_.store((at + lag).time_since_epoch().count(), std::memory_order_release);
  proven_at_.store(at.time_since_epoch().count(), std::memory_order_release);
  if (bond_ != nullptr) {
    bond_->absent_reads.look(epochs_, at);
  }
}

void LiveFilter::expire() noexcept {
  set_fresh_until(TimePoint::min());
}

void LiveFilter::set_fresh_until(TimePoint until) noexcept {
  proven_at_.store(TimePoint::min().time_since_epoch().count(), std::memory_order_release);
  fresh_until_.store(until.time_since_epoch().count(), std::memory_order_release);
}

bool LiveFilter::is_fresh_id(std::uint64_t id) const noexcept {
  const std::uint64_t largest = largest_id_.load(std::memory_order_acquire);
  return id > largest && id - largest <= growth_window_.load(std::memory_order_relaxed);
}

// The window first: a reader that sees the new largest id sees the window that goes with it.
void LiveFilter::set_growth(std::uint64_t largest_id, std::uint64_t window) noexcept {
  growth_window_.store(window, std::memory_order_relaxed);
  largest_id_.store(largest_id, std::memory_order_release);
}

// One writer: no other thread stores. A reader that sees what follows sees this.
void LiveFilter::note_removal() noexcept {
  if (bond_ != nullptr) {
    const std::uint64_t before = bond_->removals.load(std::memory_order_relaxed);
    bond_->removals.store(before + 1, std::memory_order_release);
  }
}

void LiveFilter::publish(std::unique_ptr<CuckooFilter> next) {
  if (bond_ != nullptr && next && next->secret() != bond_->hash.secret()) {
    throw std::invalid_argument("a part's filter must have its namespace's secret");
  }
  note_removal();
  const bool same_secret = next && owned_ && next->secret() == owned_->secret();
  std::unique_ptr<CuckooFilter> old = std::exchange(owned_, std::move(next));
  current_.store(owned_.get(), std::memory_order_seq_cst);
  const std::uint64_t epoch = epochs_.advance();
  if (old) {
    if (!same_secret) {
      old->fail_open();
    }
    replaced_.push_back({std::move(old), epoch});
  }
  reclaim();
}

void LiveFilter::publish_foreign(std::shared_ptr<const foreign::Filter> next) {
  note_removal();
  replaced_foreign_.reserve(replaced_foreign_.size() + 1);
  std::shared_ptr<const foreign::Filter> old = std::exchange(foreign_owned_, std::move(next));
  foreign_.store(foreign_owned_.get(), std::memory_order_seq_cst);
  const std::uint64_t epoch = epochs_.advance();
  if (old) {
    replaced_foreign_.push_back({std::move(old), epoch});
  }
  reclaim();
}

void LiveFilter::set_isolated(IsolatedRows rows) {
  note_removal();
  replaced_rows_.reserve(replaced_rows_.size() + 1);
  auto next = std::make_unique<const IsolatedRows>(std::move(rows));
  std::unique_ptr<const IsolatedRows> old = std::exchange(isolated_owned_, std::move(next));
  isolated_.store(isolated_owned_.get(), std::memory_order_seq_cst);
  const std::uint64_t epoch = epochs_.advance();
  if (old) {
    replaced_rows_.push_back({std::move(old), epoch});
  }
  reclaim();
}

InsertOutcome LiveFilter::insert(std::uint64_t hash) {
  reclaim();
  for (const Replaced& replaced : replaced_) {
    replaced.filter->insert(hash);
  }
  return owned_ ? owned_->insert(hash) : InsertOutcome::full;
}

InsertOutcome LiveFilter::insert(std::span<const std::uint64_t> hashes) {
  reclaim();
  for (const Replaced& replaced : replaced_) {
    replaced.filter->insert(hashes);
  }
  return owned_ ? owned_->insert(hashes) : InsertOutcome::full;
}

void LiveFilter::committed(std::span<const std::uint64_t> hashes, const CommitTimes& times) {
  if (bond_ != nullptr) {
    bond_->absent_reads.committed(hashes, times, epochs_);
  }
}

EraseOutcome LiveFilter::erase(std::uint64_t hash) {
  reclaim();
  note_removal();
  if (bond_ != nullptr) {
    bond_->absent_reads.erased(hash);
  }
  for (const Replaced& replaced : replaced_) {
    replaced.filter->erase(hash);
  }
  return owned_ ? owned_->erase(hash) : EraseOutcome::not_found;
}

bool LiveFilter::reclaim() {
  std::erase_if(replaced_,
                [this](const Replaced& replaced) { return epochs_.passed(replaced.epoch); });
  std::erase_if(replaced_rows_,
                [this](const ReplacedRows& replaced) { return epochs_.passed(replaced.epoch); });
  std::erase_if(replaced_foreign_,
                [this](const ReplacedForeign& replaced) { return epochs_.passed(replaced.epoch); });
  return replaced_.empty() && replaced_rows_.empty() && replaced_foreign_.empty();
}

}  // namespace cuckooguard::filter
