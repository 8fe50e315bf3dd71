#include "source/feed.h"

#include <algorithm>
#include <new>
#include <utility>

#include "filter/cuckoo_filter.h"

namespace cuckooguard::source {

using filter::State;

Feed::Feed(const Target& target,
           filter::LiveFilter& live,
           std::string table,
           Observer& observer,
           Clock clock,
           std::chrono::nanoseconds max_lag)
    : target_(target),
      live_(live),
      table_(std::move(table)),
      name_(target.settings.name),
      observer_(observer),
      clock_(std::move(clock)),
      max_lag_(max_lag),
      window_(target.settings.fresh_ids, max_lag) {
  batch_.reserve(kBatch);
}

Feed::Intake Feed::begin(std::uint64_t rows_expected, filter::DeleteMode deletes) {
  batch_.clear();
  loaded_ = false;
  rows_ = 0;
  rows_expected_ = rows_expected;
  largest_id_ = 0;
  ids_grow_ = false;
  began_at_ = clock_();
  progress_due_ = began_at_ + kProgressEvery;
  const std::uint64_t capacity = std::max({target_.settings.filter.capacity.value_or(0),
                                           filter::automatic_capacity(rows_expected),
                                           capacity_min_});
  try {
    next_ = std::make_unique<filter::CuckooFilter>(
        filter::choose_sizing(target_.settings.filter.false_positive_rate, capacity, deletes),
        target_.parts.secret());
  } catch (const std::bad_alloc&) {  // the rest of the product can go on without this filter
    refuse("there is not enough memory for a filter of " + std::to_string(capacity) + " rows");
    return Intake::refused;
  }
  return Intake::taken;
}

void Feed::ids_grow(std::uint64_t used) {
  ids_grow_ = true;
  largest_id_ = std::max(largest_id_, used);
}

Feed::Intake Feed::add(std::span<const std::optional<std::string_view>> values) {
  const auto hashed = hash_of(values);
  if (!hashed) {
    refuse(hashed.error());
    return Intake::refused;
  }
  const std::optional<std::uint64_t> hash = *hashed;
  ++rows_;
  if (rows_ % kRowsPerClock == 0) {
    progress(false);
  }
  if (!hash) {
    return Intake::taken;
  }
  batch_.push_back(*hash);
  return batch_.size() < kBatch ? Intake::taken : flush();
}

std::expected<std::optional<std::uint64_t>, std::string> Feed::hash_of(
    std::span<const std::optional<std::string_view>> values) {
  const auto row = target_.keyspace.identity_of_row(target_.ns, values, scratch_);
  if (!row) {
    return std::unexpected(row.error().what);
  }
  const std::optional<keyspace::RowIdentity>& identity = *row;
  if (!identity) {
    return std::nullopt;  // a NULL: no key can name this row
  }
  largest_id_ = std::max(largest_id_, identity->number.value_or(0));
  return target_.parts.hash(identity->identity);
}

Feed::Intake Feed::flush() {
  const auto outcome = next_->insert(std::span<const std::uint64_t>(batch_));
  batch_.clear();
  if (outcome != filter::InsertOutcome::full) {
    return Intake::taken;
  }
  const std::uint64_t capacity = next_->sizing().capacity();
  capacity_min_ = capacity + capacity / 2;
  next_.reset();
  return Intake::too_small;
}

Feed::Intake Feed::complete() {
  if (flush() == Intake::too_small) {
    return Intake::too_small;
  }
  progress(true);
  const auto since = proven_at_.value_or(snapshot_at_);
  live_.publish(std::move(next_));
  live_.set_growth(largest_id_, window_.next(largest_id_, snapshot_at_ - since, ids_grow_));
  loaded_ = true;
  return Intake::taken;
}

void Feed::refuse(std::string_view why) {
  next_.reset();
  loaded_ = false;
  report(State::unsynced, why);
}

void Feed::prove(TimePoint at) {
  live_.reclaim();
  if (!loaded_) {
    return;
  }
  proven_at_ = at;
  live_.set_fresh_until(at + max_lag_);
  report(State::ready, "");
}

void Feed::report(State state, std::string_view why) {
  if (state_ == state && why_ == why) {
    return;
  }
  state_ = state;
  why_ = why;
  live_.set_state(state);
  observer_.on_state(name_, state, why);
}

void Feed::report_unless_refused(State state, std::string_view why) {
  if (state_ != State::unsynced) {
    report(state, why);
  }
}

void Feed::progress(bool complete) {
  const TimePoint now = clock_();
  if (!complete && now < progress_due_) {
    return;
  }
  progress_due_ = now + kProgressEvery;
  Progress progress{.ns = name_,
                    .rows = rows_,
                    .rows_expected = complete ? rows_ : std::max(rows_, rows_expected_),
                    .elapsed = now - began_at_,
                    .remaining = std::nullopt,
                    .complete = complete};
  progress.fraction = progress.rows_expected == 0 ? 1.0
                                                  : static_cast<double>(rows_) /
                                                        static_cast<double>(progress.rows_expected);
  const double seconds = std::chrono::duration<double>(progress.elapsed).count();
  if (seconds > 0) {
    progress.rows_per_second = static_cast<double>(rows_) / seconds;
  }
  if (progress.rows_per_second > 0) {
    const std::chrono::duration<double> left(static_cast<double>(progress.rows_expected - rows_) /
                                             progress.rows_per_second);
    progress.remaining = std::chrono::duration_cast<std::chrono::nanoseconds>(left);
  }
  observer_.on_progress(progress);
}

}  // namespace cuckooguard::source
