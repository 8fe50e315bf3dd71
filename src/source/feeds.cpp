#include "source/feeds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "config/table_pattern.h"
#include "text/try.h"

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

using filter::State;

Feed::Feed(const Target& target,
           filter::LiveFilter& live,
           std::string table,
           Observer& observer,
           Clock clock,
           std::chrono::nanoseconds max_lag,
           Publication& publication)
    : target_(target),
      live_(live),
      table_(std::move(table)),
      name_(target.settings.source.is_one_table() ? target.settings.name
                                                  : target.settings.name + "/" + table_),
      published_(publication, published_number(target, table_)),
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
  isolated_in_log_ = {};
  load_.be_one_of(target_.parts.size());
  const Intake intake = load_.begin(rows_expected, deletes);
  if (intake == Intake::refused) {
    refuse(State::unsynced, load_.why_refused());
  }
  return intake;
}

Feed::Intake Feed::add(std::span<const std::optional<std::string_view>> values) {
  const Intake intake = load_.add(values);
  if (intake == Intake::refused) {
    refuse(State::unsynced, load_.why_refused());
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

void Feed::begin_to_collect(bool is_in_step) {
  largest_in_log_ = 0;
  isolated_in_log_ = {};
  counts_published_isolated_ = is_in_step;
}

void Feed::publish(FilterLoad::Loaded loaded) {
  const auto since = proven_at_.value_or(snapshot_at_);
  loaded.isolated.add(isolated_in_log_);
  // Those of both filters, while look-ups may still be in the one before.
  filter::IsolatedRows both = live_.writable_isolated();
  both.add(loaded.isolated);
  const bool has_isolated = both.size() > 0;
  if (has_isolated) {
    live_.set_isolated(std::move(both));
  }
  live_.publish(std::move(loaded.filter));
  if (has_isolated) {
    published_.set_isolated(loaded.isolated);
    live_.set_isolated(std::move(loaded.isolated));
  }
  counts_published_isolated_ = true;
  warn_of_isolated(loaded.first_isolated);
  ids_grow_ = loaded.ids_grow;
  largest_id_ = std::max(loaded.largest_id, largest_in_log_);
  growth_at_ = snapshot_at_;
  growth_ = window_.next(largest_id_, snapshot_at_ - since, ids_grow_);
  live_.set_growth(largest_id_, growth_);
  loaded_ = true;
}

void Feed::publish(std::shared_ptr<const foreign::Filter> filter) {
  live_.publish_foreign(std::move(filter));
  loaded_ = true;
}

void Feed::refuse(State state, std::string_view why) {
  loaded_ = false;
  report(state, why);
}

void Feed::report_mended() {
  if (state_ == State::refused) {
    report(State::loading, "access is no longer refused: reading the rows");
  }
}

std::expected<std::optional<std::uint64_t>, std::string> Feed::hash_of(
    std::span<const std::optional<std::string_view>> values, bool counts) {
  const std::optional<RowHash::Hashed> row = TRY(hash_(values));
  if (!row) {
    return std::nullopt;
  }
  largest_in_log_ = std::max(largest_in_log_, row->number);
  if (row->is_isolated && counts && !isolate(row->hash, values)) {
    return std::unexpected(
        hash_.too_many_isolated_text(values, filter::IsolatedRows::rows_max(target_.parts.size())));
  }
  return row->hash;
}

bool Feed::isolate(std::uint64_t hash, std::span<const std::optional<std::string_view>> values) {
  const filter::IsolatedRows& known = live_.writable_isolated();
  if (known.has(hash) && isolated_in_log_.has(hash)) {
    return true;
  }
  const filter::IsolatedRows& counted = counts_published_isolated_ ? known : isolated_in_log_;
  if (counted.size() >= filter::IsolatedRows::rows_max(target_.parts.size()) &&
      !counted.has(hash)) {
    return false;
  }
  keyspace::IdentityPattern pattern = hash_.pattern(values);
  filter::IsolatedRows next = known;
  next.add(hash, pattern);
  isolated_in_log_.add(hash, std::move(pattern));
  published_.set_isolated(next);
  live_.set_isolated(std::move(next));
  if (!has_warned_of_isolated_) {
    warn_of_isolated(hash_.isolated_text(values));
  }
  return true;
}

void Feed::warn_of_isolated(const std::string& first) {
  if (!first.empty() && !has_warned_of_isolated_) {
    has_warned_of_isolated_ = true;
    warn(first);
  }
}

void Feed::forget_isolated() {
  if (!loaded_ || live_.writable() == nullptr) {
    return;
  }
  const filter::CuckooFilter& filter = *live_.writable();
  isolated_in_log_.leave_those_in(filter);
  const filter::IsolatedRows& known = live_.writable_isolated();
  if (known.count_in(filter) < known.size()) {
    filter::IsolatedRows left = known;
    left.leave_those_in(filter);
    live_.set_isolated(std::move(left));
  }
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
  live_.prove(at, max_lag_);
  if (clock_() - at <= max_lag_) {  // else it is of use to nobody, and report_if_stale() says so
    report(State::ready, "");
  }
}

void Feed::report_if_stale(TimePoint now) {
  if (state_ == State::ready && proven_at_ && now - *proven_at_ > max_lag_) {
    report(State::lagging, "no proof within max_lag that the filter is up to date with the source");
  }
}

void Feed::report(State state, std::string_view why) {
  if (state_ == state && why_ == why) {
    return;
  }
  state_ = state;
  why_ = why;
  live_.set_state(state, why);
  observer_.on_state(name_, state, why);
}

void Feed::warn(std::string_view what) {
  observer_.on_trouble(target_.settings.source.from, name_ + ": " + std::string(what));
}

void Feed::report_unless_refused(State state, std::string_view why) {
  if (state_ != State::unsynced && state_ != State::refused) {
    report(state, why);
  }
}

Feeds::Feeds(std::span<const Target> targets,
             Observer& observer,
             const Clock& clock,
             std::chrono::nanoseconds max_lag,
             Publication& publication)
    : targets_(targets.begin(), targets.end()),
      reported_(targets.size()),
      observer_(&observer),
      clock_(clock),
      max_lag_(max_lag),
      publication_(&publication) {
  for (const Target& target : targets_) {
    std::vector<std::string> named = target.settings.source.tables;
    const bool has_patterns = std::erase_if(named, config::is_table_pattern) > 0;
    if (named.empty() && !has_patterns) {  // a file
      named.emplace_back();
    }
    if (!named.empty()) {
      set_tables(target, named);
    }
    if (has_patterns) {
      target.parts.set_complete(false);
    }
  }
}

void Feeds::snapshot_begins(TimePoint now) {
  snapshot_at_ = now;
  each(&Feed::snapshot_begins, now);
}

bool Feeds::has(const Target& target, const std::string& table) const {
  return std::ranges::any_of(feeds_, [&](const Feed& feed) {
    return feed.target().ns == target.ns && feed.table() == table;
  });
}

bool Feeds::add(const Target& target, const std::string& table) {
  filter::LiveFilter* const live = target.parts.add(table);
  if (live == nullptr) {
    return false;
  }
  feeds_.emplace_back(target, *live, table, *observer_, clock_, max_lag_, *publication_);
  feeds_.back().snapshot_begins(snapshot_at_);
  return true;
}

// In between, a table that was renamed is under neither name.
void Feeds::set_tables(const Target& target, std::span<const std::string> tables) {
  target.parts.set_complete(false);
  feeds_.remove_if([&](const Feed& feed) {
    const bool is_gone =
        feed.target().ns == target.ns && std::ranges::find(tables, feed.table()) == tables.end();
    if (is_gone) {
      target.parts.remove(feed.table());
    }
    return is_gone;
  });
  bool are_all_in = true;
  for (const std::string& table : tables) {
    are_all_in = are_all_in && (has(target, table) || add(target, table));
  }
  target.parts.set_complete(are_all_in);
  publication_->set_tables(target, are_all_in ? tables : std::span<const std::string>());
  target.parts.reclaim();
  std::string why;
  if (!are_all_in) {
    why = "the pattern matches " + std::to_string(tables.size()) + " tables, and the maximum is " +
          std::to_string(filter::LiveParts::kPartsMax);
  } else if (tables.empty()) {
    why = "no table matches the pattern yet";
  }
  report(target, why);
}

void Feeds::report(const Target& target, const std::string& why, State state) {
  const auto at = std::ranges::find(targets_, target.ns, &Target::ns) - targets_.begin();
  std::string& reported = reported_[static_cast<std::size_t>(at)];
  if (reported != why) {
    reported = why;
    const State now = why.empty() ? State::loading : state;
    target.parts.set_state_without_tables(now, why);
    observer_->on_state(
        target.settings.name, now, why.empty() ? "its tables have been listed" : why);
  }
}

}  // namespace cuckooguard::source
