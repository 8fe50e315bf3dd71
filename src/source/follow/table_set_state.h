// What the four sides of a TableSet share (table_set.h), behind one mutex.
//
// Threads: with the mutex held, but for what says otherwise.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <ranges>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/live_filter.h"
#include "follow/log_feed.h"
#include "follow/position_proofs.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"

namespace cuckooguard::source {

// One table of a set: the rows that are followed, those that are being read, and when it is to be
// read again.
//
// Threads: under its lock, but that whoever loads a table may read its plan and name_of() without.
// Lifetimes: the feed outlives it.

// How long a table waits that has to be read again: hardly, unless that comes too often.
//
// Each time costs kEach, and time that the table is in step pays it back: kFreely times in a row
// are free, and one each kEach for good. Beyond that the pause doubles, up to kPauseMax. A reason
// that stays (what the log says of a table and what a snapshot says do not go together) so costs
// the database a read every two minutes, not one after the other; one that comes now and then
// (TRUNCATE, ALTER) costs nothing.
//
// Threads: under its lock. Limits: kPauseMax.
class RereadPace {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr int kFreely = 10;
  static constexpr std::chrono::minutes kEach{1};
  static constexpr std::chrono::seconds kPauseMin{1};
  static constexpr std::chrono::seconds kPauseMax{120};

  // It has to be read again, and was in step for so long before. Nothing: no pause is due.
  std::optional<Duration> next(Duration in_step) {
    debt_ = std::max(debt_ - in_step, Duration::zero()) + kEach;
    debt_ = std::min<Duration>(debt_, (kFreely + kDoublings + 1) * kEach);
    if (debt_ <= kFreely * kEach) {
      return std::nullopt;
    }
    const auto doublings = (debt_ - kFreely * kEach - Duration(1)) / kEach;
    return std::min<Duration>(kPauseMin * (1 << doublings), kPauseMax);
  }

 private:
  static constexpr int kDoublings = 7;

  Duration debt_{};
};

// A table as it was planned, on its way from the log into the feed's filter.
template <class Log>
struct TableRows {
  using Proofs = PositionProofs<typename Log::Position, typename Log::Place>;

  TableRows(typename Log::Plan planned, Feed& owner, const Proofs& proofs)
      : plan(std::move(planned)), feed(owner, plan, proofs), table(plan, feed) {}

  typename Log::Plan plan;
  LogFeed<Log> feed;
  typename Log::Table table;
  std::optional<typename Log::View> view{};  // that it was read in, unless by a checkpoint
  bool is_out_of_step = false;
  std::string why_out_of_step{};

  bool is_good_for_now() const { return view && view->is_good_for_now(); }
};

template <class Log>
struct TablePlace {
  explicit TablePlace(Feed* of, std::uint64_t loads_before = 0) : feed(of), loads(loads_before) {}

  Feed* feed;                               // null: the table has gone
  std::unique_ptr<TableRows<Log>> current;  // in step, unless it is out of step
  std::unique_ptr<TableRows<Log>> next;     // being read
  bool is_being_read = false;
  bool is_due = true;
  bool is_refused = false;  // until it is loaded
  TimePoint due_at{};
  TimePoint published_at{};
  RereadPace pace{};
  std::uint64_t loads;

  bool is_there() const { return feed != nullptr; }
  bool is_in_step() const { return current && !current->is_out_of_step; }
  bool is_in_step_for_good() const { return is_in_step() && !current->is_good_for_now(); }
};

// The namespaces of a source whose tables are given by patterns, and whether it is known which
// tables those are.
//
//   begin_doubt() ─▶ is_due()? ─▶ doubt() ─ they are listed ─▶ settle(doubt)
//                       ▲                        └─▶ failed(): again after a pause
//                       └────────────────────────────┘
//
// Must: while there is doubt, all keys of these namespaces pass (LiveParts::set_complete).
//
// Threads: under its lock; targets() any. Limits: pauses between kPauseMin and kPauseMax.
class PatternedTables {
 public:
  static constexpr std::chrono::milliseconds kPauseMin{100};
  static constexpr std::chrono::seconds kPauseMax{10};

  explicit PatternedTables(std::span<const Target> targets);

  const std::vector<Target>& targets() const { return targets_; }

  // What comes now in the log may have made, named or dropped a table. Before the position moves,
  // so that no later proof is trusted for the tables of before.
  void begin_doubt();
  // Nothing: there is none. What it gives goes back with the answer to a question asked later.
  std::optional<std::uint64_t> doubt() const;
  // False: there is new doubt, ask again.
  bool settle(std::uint64_t doubt);
  void failed(TimePoint now) { due_at_ = now + backoff_.next(); }
  // There is doubt, and the last failure is long enough ago.
  bool is_due(TimePoint now) const { return doubt() && now >= due_at_; }
  // Its pattern, of one of them.
  static bool matches(const Target& target, std::string_view table);

 private:
  std::vector<Target> targets_;
  std::uint64_t doubts_ = 1;
  std::uint64_t listed_ = 0;  // the doubt that was settled last
  TimePoint due_at_{};
  Backoff backoff_{kPauseMin, kPauseMax};
};

using TableIndex = std::size_t;

struct TableSetTimes {
  static constexpr std::chrono::milliseconds kRereadDelayMax{500};
  static constexpr std::chrono::seconds kRefusedPause{
      10};  // until what the operator must mend is looked at again
  static constexpr std::chrono::seconds kViewWaitMax{60};
  // For transactions that were prepared before a table is read: theirs would not be known.
  static constexpr std::chrono::seconds kPreparedWaitMax{1};
  static constexpr std::chrono::seconds kRebuildPause{10};  // behind a load
};

template <class Log>
struct TableSetState {
  using Lock = std::unique_lock<std::mutex>;
  using Place = TablePlace<Log>;
  using Rows = TableRows<Log>;
  using Applier = typename Log::Applier;

  TableSetState(Feeds all, Clock time, std::string of, Asking readers)
      : asking(readers),
        clock(std::move(time)),
        random(std::random_device{}()),
        schema(std::move(of)),
        feeds(std::move(all)),
        patterned(feeds.targets()) {
    for (Feed& feed : feeds) {
      tables.emplace_back(&feed);
    }
  }

  // Not the places of tables that have gone.
  auto there() { return tables | std::views::filter(&Place::is_there); }

  // Allocates nothing: it may be for want of memory that it is called.
  void make_void(std::string_view why) {
    why_void = why;
    status.has_no_position();
    proofs.forget_unproven();
    for (Place& followed : there()) {
      followed.feed->expire();
    }
    for (Place& followed : there()) {
      followed.feed->published().lost();
    }
  }

  // All that was told of the tables is what the log says up to here.
  void mark() {
    if (&feeds.publication() != &Publication::none()) {
      const auto& last = applier->last_group();
      feeds.publication().mark(applier->position().text(),
                               last ? Log::resume_text(applier->position(), *last) : "");
    }
  }

  // For want of tables that could say it.
  void report_patterned(filter::State reported, std::string_view why) {
    for (const Target& target : patterned.targets()) {
      feeds.report(target, std::string(why), reported);
    }
  }

  void drop(std::unique_ptr<Rows>& rows) {
    applier_leaves(rows);
    rows.reset();
  }
  void applier_leaves(const std::unique_ptr<Rows>& rows) {
    if (rows) {
      applier->leave(rows->table);
    }
  }

  // For a reason that is not in the log.
  void take_out_of_step(Rows& rows, std::string_view why) {
    applier->leave(rows.table);
    put_out_of_step(rows.table, why);
  }
  // The applier has let go of it. A loader may still be reading it: it finds out, and drops it.
  void put_out_of_step(const typename Log::Table& table, std::string_view why) {
    for (Place& followed : there()) {
      for (Rows* const rows : {followed.current.get(), followed.next.get()}) {
        if (rows != nullptr && &rows->table == &table) {
          put_out_of_step(followed, *rows, why);
        }
      }
    }
  }

  // When a table is read again that was in step for so long, and what is to be said of it.
  struct Reread {
    std::chrono::nanoseconds pause;
    std::string why;
  };
  // Not all guards of a database at once; and none of them again and again.
  Reread reread(Place& followed, std::chrono::nanoseconds in_step, std::string_view why) {
    const auto pause = followed.pace.next(in_step);
    if (!pause) {
      return {.pause = some_of(TableSetTimes::kRereadDelayMax), .why = std::string(why)};
    }
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(*pause);
    Reread next{.pause = *pause,
                .why = std::string(why) + "; this happens too often: reading the table again in " +
                       std::to_string(whole.count()) + " s"};
    followed.feed->warn(next.why);
    return next;
  }

  bool wait(Lock& lock, const std::stop_token& stop, const std::function<bool()>& until) {
    ++waiting;
    const bool is_so = moved.wait_for(lock, stop, TableSetTimes::kViewWaitMax, until);
    --waiting;
    return is_so && !stop.stop_requested();
  }
  void wait_for_pauses(Lock& lock) {
    moved.wait(lock, [this] { return pauses == 0; });
  }

  std::mutex mutex;
  std::condition_variable_any moved;
  int waiting = 0;
  int pauses = 0;  // files are being written: no filter changes, and none is replaced
  Asking asking;   // its readers; any thread, without the mutex
  Clock clock;
  std::minstd_rand random;
  std::string schema;  // of all tables
  Feeds feeds;
  PatternedTables patterned;
  std::deque<Place> tables;
  LogStatus<typename Log::Position> status;  // any thread, without the mutex
  std::unique_ptr<Applier> applier;
  bool has_published = false;  // since the last checkpoint
  PositionProofs<typename Log::Position, typename Log::Place> proofs;
  TimePoint committed_at = TimePoint::min();  // before the server's last word on its commits
  std::string_view why_void;                  // of a literal
  bool is_refused = false;                    // as a whole, and not begun since

 private:
  void put_out_of_step(Place& followed, Rows& rows, std::string_view why) {
    rows.is_out_of_step = true;
    const bool is_current = &rows == followed.current.get();
    if (is_current) {
      followed.feed->expire();
      followed.feed->published().lost();
    }
    rows.why_out_of_step = why;
    const TimePoint now = clock();
    if (followed.is_being_read) {  // whoever reads it publishes it, or fails
      if (is_current) {
        followed.feed->report(filter::State::loading, why);
      }
      return;
    }
    const Reread next = reread(followed, now - followed.published_at, why);
    followed.feed->report(filter::State::loading, next.why);
    followed.is_due = true;
    followed.due_at = now + next.pause;
  }

  std::chrono::nanoseconds some_of(std::chrono::nanoseconds most) {
    return std::chrono::nanoseconds(
        std::uniform_int_distribution<std::chrono::nanoseconds::rep>(0, most.count())(random));
  }
};

}  // namespace cuckooguard::source
