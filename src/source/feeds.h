// The feeds of a source: one per part of each of its namespaces, that is per table. Tables of a
// namespace that is given by a pattern or a list may come and go.
//
// Must: the tables that set_tables() is given are those of the snapshot being read, and a feed is
// proven for that snapshot alone. So no proof outlives the knowledge of which tables there are
// (filter/live_parts.h).
// Threads: the source's; it is the one writer of the targets' parts. Lifetimes: a feed lives until
// set_tables() leaves its table out. Limits: kPartsMax tables of a namespace; with more it passes,
// and says so. Without any it passes, too.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/key_hash.h"
#include "foreign/filter.h"
#include "source/filter_load.h"
#include "source/publication.h"
#include "source/source.h"

namespace cuckooguard::source {

// `fresh_ids`: how many ids above the largest one in the snapshot must pass.
//
// A row inserted a moment ago has an id just above the largest in the snapshot. Until the source
// has seen the commit, such ids pass. `auto` makes the window max(16, 4 x the inserts seen per
// max_lag), so that it covers a burst four times as fast as any of late and is still no hole worth
// an attacker's time: 16 ids for a quiet table. A burst is remembered with half its weight per
// snapshot.
class GrowthWindow {
 public:
  static constexpr std::uint64_t kIdsMin = 16;
  static constexpr std::uint64_t kTimesInserts = 4;

  GrowthWindow(const config::FreshIds& wanted, std::chrono::nanoseconds max_lag)
      : wanted_(wanted), max_lag_(max_lag) {}

  // A snapshot whose largest id is `largest`; the inserts since the one before it took `elapsed` at
  // most. `grows`: new rows get the next id. Returns the window to use from now on.
  std::uint64_t next(std::uint64_t largest, std::chrono::nanoseconds elapsed, bool grows);

 private:
  config::FreshIds wanted_;
  std::chrono::nanoseconds max_lag_;
  std::optional<std::uint64_t> largest_;
  std::uint64_t inserts_per_lag_ = 0;
};

// One part of a namespace, a table, on its way from rows to look-ups: what a source loads,
// publishes and proves for it.
//
//   begin(rows) ─▶ add(row) … ─▶ complete() publishes ─▶ prove(until) … ─▶ expire() ─▶ begin …
//                     └─▶ refuse(state, why) until the next load
//
// A source that follows a log loads beside it: load() makes a FilterLoad of its own, publish()
// takes it.
//
// Must: no absent verdict is possible between expire() and the next prove(), and prove() does
// nothing for a namespace whose last load was not completed.
// Threads: one at a time: it is the one writer of the live filter. Errors: values. A filter that
// turns out too small says so; the rows must then be given again from the first one.
class Feed {
 public:
  using Intake = source::Intake;

  // `live` is the part of target.parts with the name `table`.
  Feed(const Target& target,
       filter::LiveFilter& live,
       std::string table,
       Observer& observer,
       Clock clock,
       std::chrono::nanoseconds max_lag,
       Publication& publication = Publication::none());

  const Target& target() const { return target_; }
  const PublishedTable& published() const { return published_; }
  filter::LiveFilter& live() { return live_; }
  const std::string& table() const { return table_; }

  // --- a load ---
  void snapshot_begins(TimePoint now) { snapshot_at_ = now; }
  Intake begin(std::uint64_t rows_expected,
               filter::DeleteMode deletes = filter::DeleteMode::deferred);
  void ids_grow(std::uint64_t used) { load_.ids_grow(used); }
  Intake add(std::span<const std::optional<std::string_view>> values);
  Intake complete();
  // `unsynced`: a row cannot be guarded. `refused`: the rows cannot be read before somebody has
  // mended something.
  void refuse(filter::State state, std::string_view why);
  // What was refused has been mended; its rows are yet to be read.
  void report_mended();
  bool is_loaded() const { return loaded_; }  // the last load was completed

  // --- a load beside a log ---
  // From now on the log's word counts for the next load. `is_in_step`: and for the filter in force.
  void begin_to_collect(bool is_in_step);
  FilterLoad load() const;
  // What was loaded, and changed since; ready with the next proof.
  void publish(FilterLoad::Loaded loaded);
  // A filter of another library's, of which no row is known.
  void publish(std::shared_ptr<const foreign::Filter> filter);
  // What a row is to the filter of every load; nothing if no key can name it. Its id counts for
  // `fresh_ids` from the next follow_growth() on. If it `counts`, and is isolated, look-ups know it
  // from here on.
  std::expected<std::optional<std::uint64_t>, std::string> hash_of(
      std::span<const std::optional<std::string_view>> values, bool counts = true);
  // Isolated rows that the filter has no more need not be known. Not while the filter has yet to
  // hear of a row of which hash_of() was asked, or a load is going on.
  void forget_isolated();
  // A row with this id has come, whose values are not known.
  void see_id(std::uint64_t id) { largest_in_log_ = std::max(largest_in_log_, id); }
  // Rows with larger ids have come: to be told after they are in the filter.
  void follow_growth();
  // Once per max_lag at most: how fast ids grow, and so how many above the largest must pass.
  void measure_growth(TimePoint at);

  std::uint64_t largest_id() const { return largest_id_; }
  bool ids_grow() const { return ids_grow_; }

  // --- between loads ---
  void expire() { live_.expire(); }
  // Nothing has changed since the snapshot in force, or all that has is in the filter, as was so at
  // `at`.
  void prove(TimePoint at);
  // The last proof is older than max_lag, and no other state says why.
  void report_if_stale(TimePoint now);
  void report(filter::State state, std::string_view why);
  // The same, unless the namespace is refused or unsynced: then that is what matters about it.
  void report_unless_refused(filter::State state, std::string_view why);
  // What an operator should know, whatever the state is.
  void warn(std::string_view what);

 private:
  bool isolate(std::uint64_t hash, std::span<const std::optional<std::string_view>> values);
  void warn_of_isolated(const std::string& first);

  Target target_;
  filter::LiveFilter& live_;
  std::string table_;
  std::string name_;  // for reports
  PublishedTable published_;
  Observer& observer_;
  Clock clock_;
  std::chrono::nanoseconds max_lag_;
  RowHash hash_;
  GrowthWindow window_;
  FilterLoad load_;
  TimePoint snapshot_at_{};

  bool loaded_ = false;  // the last load was completed
  std::uint64_t largest_id_ = 0;
  std::uint64_t largest_in_log_ = 0;       // of rows that the next load may not show
  filter::IsolatedRows isolated_in_log_;   // likewise
  bool counts_published_isolated_ = true;  // the limit is for those of the filter in force, too
  bool has_warned_of_isolated_ = false;
  std::uint64_t growth_ = 0;  // the window
  bool ids_grow_ = false;
  TimePoint growth_at_{};  // when the window was last chosen
  std::optional<TimePoint> proven_at_;
  std::optional<filter::State> state_;
  std::string why_;
};

class Feeds {
 public:
  // With the tables that are named, without those that patterns may find.
  Feeds(std::span<const Target> targets,
        Observer& observer,
        const Clock& clock,
        std::chrono::nanoseconds max_lag,
        Publication& publication = Publication::none());

  auto begin() { return feeds_.begin(); }
  auto end() { return feeds_.end(); }
  Feed& front() { return feeds_.front(); }
  std::size_t size() const { return feeds_.size(); }
  // Calls it of every feed.
  template <typename... Parameters>
  void each(void (Feed::*call)(Parameters...), const auto&... arguments) {
    for (Feed& feed : feeds_) {
      (feed.*call)(arguments...);
    }
  }

  std::span<const Target> targets() const { return targets_; }
  Publication& publication() const { return *publication_; }
  // Also of the feeds that it will add.
  void snapshot_begins(TimePoint now);
  // From now on these are the namespace's tables, and no others. A new one passes until it is
  // loaded.
  void set_tables(const Target& target, std::span<const std::string> tables);
  // Why the namespace passes although no feed says so; empty: no more.
  void report(const Target& target,
              const std::string& why,
              filter::State state = filter::State::unsynced);

 private:
  bool has(const Target& target, const std::string& table) const;
  bool add(const Target& target, const std::string& table);

  std::vector<Target> targets_;
  std::vector<std::string> reported_;  // of each target: why it passes although no feed says so
  Observer* observer_;
  Clock clock_;
  std::chrono::nanoseconds max_lag_;
  Publication* publication_;
  TimePoint snapshot_at_{};
  std::list<Feed> feeds_;
};

}  // namespace cuckooguard::source
