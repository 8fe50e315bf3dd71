// A set of tables, for whoever reads them (table_loader.h).
//
//   due ─▶ collect ─▶ wait_until_collecting ─▶ view_is ─▶ wait_until_past ─▶ settle ─▶ publish
//                                └─▶ refuse, fail, give_back ◀─┘
//
// Threads: the source's and a loader's. Errors: values. Waits end with their stop token or
// TableSetTimes::kViewWaitMax.
#pragma once

#include <algorithm>
#include <chrono>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "follow/table_set_state.h"
#include "source/filter_load.h"
#include "text/try.h"

namespace cuckooguard::source {

template <class Log>
class TableSetLoads {
 public:
  using Position = typename Log::Position;
  using View = typename Log::View;
  using Rows = TableRows<Log>;

  explicit TableSetLoads(TableSetState<Log>& state) : state_(state) {}

  // --- when ---
  // Those that are to be read now; they count as being read from then on.
  std::vector<TableIndex> take_due() {
    const std::scoped_lock lock(state_.mutex);
    const TimePoint now = state_.clock();
    std::vector<TableIndex> due;
    for (TableIndex index = 0; index < state_.tables.size(); ++index) {
      Place& followed = state_.tables[index];
      if (followed.feed != nullptr && followed.is_due && !followed.is_being_read &&
          now >= followed.due_at) {
        followed.is_due = false;
        followed.is_being_read = true;
        due.push_back(index);
      }
    }
    return due;
  }
  // Once in a while: says which tables have no recent proof, and lets filters be built again that
  // want it.
  void tend() {
    const std::scoped_lock lock(state_.mutex);
    const TimePoint now = state_.clock();
    const bool is_idle = state_.applier && state_.applier->is_idle();
    for (Place& followed : state_.there()) {
      followed.feed->report_if_stale(now);
      if (is_idle && followed.is_in_step() && !followed.is_being_read) {
        followed.feed->forget_isolated();
      }
      if (followed.is_due && followed.feed->live().take_rebuild_request()) {
        followed.due_at = now;  // somebody knows that it need not wait
      }
      if (!followed.is_in_step() || followed.is_being_read || followed.is_due) {
        continue;
      }
      const bool is_asked = followed.feed->live().take_rebuild_request();
      if (is_asked || followed.current->feed.wants_rebuild()) {
        followed.is_due = true;
        followed.due_at = is_asked ? now : followed.published_at + TableSetTimes::kRebuildPause;
      }
    }
  }

  // --- how ---
  FilterLoad load(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed->load();
  }
  // The log's word on this table is kept from now on.
  const Rows& collect(TableIndex index, typename Log::Plan plan) {
    const std::scoped_lock lock(state_.mutex);
    Place& followed = state_.tables[index];
    if (state_.why_void.empty()) {
      followed.feed->report_mended();
    }
    followed.feed->begin_to_collect(followed.is_in_step());
    followed.next =
        std::make_unique<TableRows<Log>>(std::move(plan), *followed.feed, state_.proofs);
    state_.applier->join(followed.next->table);
    state_.applier->begin_waiting(followed.next->table);
    return *followed.next;
  }
  // Up to here the log's word was not kept. Nothing: stopped, or too late.
  std::optional<Position> wait_until_collecting(
      std::span<const TableIndex> indexes,
      const std::stop_token& stop,
      std::chrono::nanoseconds prepared_wait = TableSetTimes::kPreparedWaitMax) {
    typename State::Lock lock(state_.mutex);
    const bool is_so = state_.wait(lock, stop, [&] {
      return std::ranges::all_of(indexes, [this](TableIndex index) {
        const TableRows<Log>& rows = *state_.tables[index].next;
        return rows.is_out_of_step || state_.applier->has_joined(rows.table);
      });
    });
    if (!is_so) {
      return std::nullopt;
    }
    ++state_.waiting;
    state_.moved.wait_for(lock, stop, prepared_wait, [&] {
      return std::ranges::none_of(indexes, [this](TableIndex index) {
        return state_.applier->is_prepared_before(state_.tables[index].next->table);
      });
    });
    --state_.waiting;
    for (const TableIndex index : indexes) {
      state_.applier->end_waiting(state_.tables[index].next->table);
    }
    return state_.applier->position();
  }
  bool view_is(TableIndex index, const View& view, TimePoint at) {
    const std::scoped_lock lock(state_.mutex);
    Place& followed = state_.tables[index];
    followed.feed->snapshot_begins(at);
    followed.next->view = view;
    return followed.next->feed.pending().view_is(view);
  }
  // The log has been read as far as the view may reach: false if stopped, or too late.
  bool wait_until_past(const View& view, const std::stop_token& stop) {
    typename State::Lock lock(state_.mutex);
    return state_.wait(lock, stop, [&] { return view.is_passed_by(state_.applier->reach()); });
  }
  void settle(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    state_.tables[index].next->feed.pending().settle();
  }
  bool is_outdated(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].next->is_out_of_step;
  }
  // What it answers of the log.
  template <class Question>
  auto ask_applier(const Question& question) const {
    const std::scoped_lock lock(state_.mutex);
    return question(std::as_const(*state_.applier));
  }

  // --- its end ---
  // In step from now on. A sentence if the log and the snapshot do not go together.
  std::expected<void, std::string> publish(TableIndex index, FilterLoad load) {
    typename State::Lock lock(state_.mutex);
    state_.wait_for_pauses(lock);
    Place& followed = state_.tables[index];
    if (followed.next->is_out_of_step) {
      return std::unexpected("the table changed while it was being read");
    }
    if (state_.applier->is_expecting()) {
      return std::unexpected("the log is being resumed");
    }
    TRY(followed.next->feed.take_pending(load.filter(), state_.applier->reach()));
    const filter::CuckooFilter* const filter = followed.feed->live().writable();
    const bool goes_on =
        followed.is_in_step() && filter != nullptr &&
        followed.current->feed.goes_on(*filter, followed.next->feed, load.filter());
    state_.applier_leaves(followed.current);
    const std::unique_ptr<Rows> before = std::exchange(followed.current, std::move(followed.next));
    followed.current->is_out_of_step = true;  // stays so if there is no memory for what follows
    followed.feed->publish(load.take());
    if (goes_on) {
      followed.current->feed.go_live_instead_of(before->feed);
    } else {
      followed.current->feed.go_live();
    }
    followed.current->is_out_of_step = false;
    followed.published_at = state_.clock();
    ++followed.loads;
    followed.is_refused = false;
    state_.has_published = true;
    followed.is_being_read = false;
    followed.is_due = false;
    state_.moved.notify_all();
    return {};
  }
  // `unsynced`: for a row; `refused`: its rows cannot be read. The table is followed no more, and
  // is due after a pause.
  void refuse(TableIndex index, filter::State state, std::string_view why) {
    const std::scoped_lock lock(state_.mutex);
    Place& followed = state_.tables[index];
    followed.feed->expire();
    followed.feed->refuse(state, why);
    followed.is_refused = true;
    state_.has_published = true;  // of which there is nothing to be kept any more
    followed.feed->published().lost();
    state_.drop(followed.current);
    end_reading(followed, TableSetTimes::kRefusedPause);
  }
  // It is due again, after a pause that grows if that comes too often (table_set_state.h). Unless
  // it is in step it shows `state`: `refused` if somebody must mend something, or `loading`.
  void fail(TableIndex index, std::string_view why, filter::State state = filter::State::loading) {
    const std::scoped_lock lock(state_.mutex);
    Place& followed = state_.tables[index];
    const bool is_refused = state == filter::State::refused;
    if (!is_refused && followed.next && followed.next->is_out_of_step) {
      why = followed.next->why_out_of_step;
    }
    const typename State::Reread next =
        is_refused
            ? typename State::Reread{.pause = TableSetTimes::kRefusedPause, .why = std::string(why)}
            : state_.reread(followed, std::chrono::nanoseconds::zero(), why);
    if (!followed.is_in_step()) {
      if (is_refused) {
        followed.feed->report(state, next.why);
      } else {
        followed.feed->report_unless_refused(state, next.why);
      }
    }
    end_reading(followed, next.pause);
  }
  // Nobody has begun to read it, or whoever did was stopped: it is due as it was.
  void give_back(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    end_reading(state_.tables[index], std::chrono::nanoseconds::zero());
  }

 private:
  using State = TableSetState<Log>;
  using Place = TablePlace<Log>;

  void end_reading(Place& followed, std::chrono::nanoseconds pause) {
    state_.drop(followed.next);
    followed.is_being_read = false;
    followed.is_due = true;
    followed.due_at = state_.clock() + pause;
    state_.moved.notify_all();
  }

  State& state_;
};

}  // namespace cuckooguard::source
