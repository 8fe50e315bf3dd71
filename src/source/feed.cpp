#include "source/feed.h"

#include <algorithm>
#include <utility>

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
      name_(target.settings.source.is_one_table() ? target.settings.name
                                                  : target.settings.name + "/" + table_),
      observer_(observer),
      clock_(std::move(clock)),
      max_lag_(max_lag),
      hash_(target),
      window_(target.settings.fresh_ids, max_lag),
      load_(target, name_, observer, clock_) {}

FilterLoad Feed::load() const {
  FilterLoad load(target_, name_, observer_, clock_);
  load.be_one_of(target_.parts.size());
  return load;
}

Feed::Intake Feed::begin(std::uint64_t rows_expected, filter::DeleteMode deletes) {
  loaded_ = false;
  load_.be_one_of(target_.parts.size());
  const Intake intake = load_.begin(rows_expected, deletes);
  if (intake == Intake::refused) {
    refuse(load_.why_refused());
  }
  return intake;
}

Feed::Intake Feed::add(std::span<const std::optional<std::string_view>> values) {
  const Intake intake = load_.add(values);
  if (intake == Intake::refused) {
    refuse(load_.why_refused());
  }
  return intake;
}

Feed::Intake Feed::complete() {
  if (load_.complete() == Intake::too_small) {
    return Intake::too_small;
  }
  publish(load_.take());
  return Intake::taken;
}

void Feed::publish(FilterLoad::Loaded loaded) {
  const auto since = proven_at_.value_or(snapshot_at_);
  live_.publish(std::move(loaded.filter));
  ids_grow_ = loaded.ids_grow;
  largest_id_ = std::max(loaded.largest_id, largest_in_log_);
  growth_at_ = snapshot_at_;
  growth_ = window_.next(largest_id_, snapshot_at_ - since, ids_grow_);
  live_.set_growth(largest_id_, growth_);
  loaded_ = true;
}

void Feed::refuse(std::string_view why) {
  loaded_ = false;
  report(State::unsynced, why);
}

std::expected<std::optional<std::uint64_t>, std::string> Feed::hash_of(
    std::span<const std::optional<std::string_view>> values) {
  const auto hashed = hash_(values);
  if (!hashed) {
    return std::unexpected(hashed.error());
  }
  const std::optional<RowHash::Hashed>& row = *hashed;
  if (!row) {
    return std::nullopt;
  }
  largest_in_log_ = std::max(largest_in_log_, row->number);
  return row->hash;
}

void Feed::follow_growth() {
  if (ids_grow_ && largest_in_log_ > largest_id_) {
    largest_id_ = largest_in_log_;
    live_.set_growth(largest_id_, growth_);
  }
}

void Feed::measure_growth(TimePoint at) {
  if (loaded_ && ids_grow_ && at - growth_at_ >= max_lag_) {
    growth_ = window_.next(largest_id_, at - growth_at_, ids_grow_);
    growth_at_ = at;
    live_.set_growth(largest_id_, growth_);
  }
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

void Feed::report_if_stale(TimePoint now) {
  if (state_ == State::ready && proven_at_ && now - *proven_at_ > max_lag_) {
    report(State::lagging, "the source has not proven for longer than max_lag that it is current");
  }
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

}  // namespace cuckooguard::source
