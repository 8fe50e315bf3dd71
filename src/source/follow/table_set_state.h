// What the four sides of a TableSet share (table_set.h), behind one mutex.
//
// Threads: with the mutex held, but for what says otherwise.
#pragma once

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
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "filter/live_filter.h"
#include "follow/patterned_tables.h"
#include "follow/position_proofs.h"
#include "follow/table_place.h"
#include "source/asking.h"
#include "source/feeds.h"
#include "source/follow_status.h"
#include "source/source.h"

namespace cuckooguard::source {

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
  }

  // For want of tables that could say it.
  void report_patterned(filter::State reported, std::string_view why) {
    for (const Target& target : patterned.targets()) {
      feeds.report(target, std::string(why), reported);
    }
  }

  void drop(std::unique_ptr<Rows>& rows) {
    if (rows) {
      applier->leave(rows->table);
      rows.reset();
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
                .why = std::string(why) + "; this comes too often: the table is read again in " +
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
  std::string_view why_void;  // of a literal
  bool is_refused = false;    // as a whole, and not begun since

 private:
  void put_out_of_step(Place& followed, Rows& rows, std::string_view why) {
    rows.is_out_of_step = true;
    const bool is_current = &rows == followed.current.get();
    if (is_current) {
      followed.feed->expire();
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
