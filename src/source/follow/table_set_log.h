// A set of tables, for whoever reads the log and applies it to them.
//
// Must: why_void() says so when position() means nothing any more, and nothing is proven from then
// on; begin_at() is due.
//
// Threads: the source's and a probe's. Errors: values. An exception (no memory) leaves tables that
// may have a transaction in part: all is void.
#pragma once

#include <algorithm>
#include <expected>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/filter_file.h"
#include "follow/table_set_state.h"

namespace cuckooguard::source {

template <class Log>
class TableSetLog {
 public:
  using Position = typename Log::Position;
  using Group = typename Log::Group;

  explicit TableSetLog(TableSetState<Log>& state) : state_(state) {}

  // --- where it is ---
  // Everything anew: all tables are due, from here on. `groups`: of which the position rests on the
  // first, if there are any: the stream must come by each of them, as it is remembered.
  void begin_at(Position position, std::vector<Group> groups = {}) {
    const std::scoped_lock lock(state_.mutex);
    for (Place& followed : state_.there()) {
      followed.feed->expire();
      followed.feed->published().lost();
      followed.current.reset();
      followed.next.reset();
      followed.is_being_read = false;
      followed.is_due = true;
      followed.due_at = {};
      if (state_.is_refused) {
        followed.feed->report_mended();
      }
    }
    if (std::exchange(state_.is_refused, false)) {
      state_.report_patterned(filter::State::loading,
                              "access is no longer refused: listing its tables");
    }
    state_.proofs.begin_at(position);
    state_.why_void = {};
    state_.status.moved_to(position);
    state_.patterned.begin_doubt();
    using Table = typename Log::Table;
    state_.applier = std::make_unique<typename Log::Applier>(
        std::move(position),
        typename Log::Applier::Calls{
            .on_out_of_step = [this](Table& table,
                                     std::string_view why) { state_.put_out_of_step(table, why); },
            .on_definition = [this] { state_.patterned.begin_doubt(); },
            .on_other_table = [this](std::string_view schema,
                                     std::string_view table) { see_table(schema, table); },
        });
    if (!groups.empty()) {
      state_.applier->rest_on(std::move(groups));
    }
  }
  bool has_begun() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.applier != nullptr;
  }
  Position position() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.applier ? state_.applier->position() : Position();
  }
  // From where the stream is to begin: one group early, if there was one, which shows whether the
  // log is still the same.
  Position resume_position() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.applier->resume_position();
  }
  // False: no group has been seen, and what was streamed before cannot be found again. begin_at()
  // is due.
  bool can_resume() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.applier != nullptr && state_.applier->last_group().has_value();
  }
  // The stream begins, on this server.
  void reconnected(const typename Log::Format& format, std::string_view server) {
    const std::scoped_lock lock(state_.mutex);
    const std::uint64_t log_of = filter::hash_of_definition(server);
    for (Place& followed : state_.there()) {
      if (!followed.is_in_step()) {
        continue;
      }
      TableRows<Log>& rows = *followed.current;
      rows.feed.forget_committed();
      if (rows.feed.has_erasures() && log_of != state_.applier->log_of()) {
        state_.take_out_of_step(
            rows, "rows were deleted on another server, whose commit had not been confirmed");
      }
    }
    state_.applier->reconnected(format, log_of);
    state_.status.moved_to(
        state_.applier->position());  // it may be set back, until it is known again
    state_.proofs.forget_unproven();
    state_.status.following();
  }

  // --- what comes ---
  // One event. An error: the stream is of no more use.
  std::expected<void, std::string> apply(const typename Log::Event& event,
                                         const std::stop_token& stop) {
    typename State::Lock lock(state_.mutex);
    while (must_wait() && !state_.wait(lock, stop, [this] { return !must_wait(); })) {
      if (stop.stop_requested()) {
        return {};
      }
      if (state_.pauses == 0 && !is_any_load_full()) {
        return std::unexpected("the server does not commit the transactions in its log");
      }
    }
    try {
      const auto applied = state_.applier->apply(event);
      if (applied && *applied) {
        state_.status.moved_to(state_.applier->position());
        state_.mark();
        prove_what_is_covered();
      }
      if (const std::string_view why = state_.applier->why_void(); !why.empty()) {
        state_.make_void(why);
      }
      if (state_.waiting > 0) {
        state_.moved.notify_all();
      }
      return applied ? std::expected<void, std::string>() : std::unexpected(applied.error());
    } catch (...) {
      state_.make_void(kInPart);
      throw;
    }
  }
  // The server has committed so much of its log, as it has said after `at`: rows that were deleted
  // by then are gone for all, and tables that were read in a view which may lack some of it are
  // read again.
  void see_committed(typename Log::Committed committed, TimePoint at = TimePoint::min()) {
    const std::scoped_lock lock(state_.mutex);
    if (!state_.applier || !state_.why_void.empty() || state_.applier->is_expecting()) {
      return;
    }
    try {
      for (Place& followed : state_.there()) {
        check_view(committed, followed.current.get());
        check_view(committed, followed.next.get());
      }
      state_.committed_at = at;
      state_.applier->judge(committed);
      for (Place& followed : state_.there()) {
        erase_what_is(committed, followed);
      }
      state_.mark();
    } catch (...) {
      state_.make_void(kInPart);
      throw;
    }
    state_.moved.notify_all();
  }
  // All that was committed before `at` is in the log up to `position` and `place`: proven as soon
  // as these are applied.
  void prove(TimePoint at, const Position& position, const typename Log::Place& place = {}) {
    const std::scoped_lock lock(state_.mutex);
    if (!state_.applier || !state_.why_void.empty()) {
      return;
    }
    const bool is_too_short = state_.applier->expects_more_than(position);
    if (!state_.proofs.add(at, state_.clock(), position, place) || is_too_short) {
      state_.make_void(kOtherLog);
      return;
    }
    prove_what_is_covered();
  }
  // The server keeps so many bytes of its log for us.
  void retains(std::uint64_t bytes) { state_.status.retains(bytes); }
  // Following it took so many transactions of the server's.
  void took_transactions(std::uint64_t count, TimePoint at) {
    state_.status.took_transactions(count, at);
  }
  // What an operator should know while it is followed.
  void remark(std::string_view what) { state_.status.remark(what); }
  std::string_view why_void() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.why_void;
  }

  // --- what is lost ---
  void report_lost(std::string_view why) {
    const std::scoped_lock lock(state_.mutex);
    state_.status.lost(why);
    for (Place& followed : state_.there()) {
      if (state_.is_refused) {
        followed.feed->report(filter::State::down, why);
      } else {
        followed.feed->report_unless_refused(filter::State::down, why);
      }
    }
    if (state_.patterned.doubt()) {
      state_.report_patterned(filter::State::down, why);
    }
  }
  // It means nothing any more, and nothing is proven until begin_at().
  void forget_position() {
    const std::scoped_lock lock(state_.mutex);
    state_.make_void("the server refused access to its log");
    state_.patterned.begin_doubt();
  }
  // The source as a whole; behind forget_position().
  void report_refused(std::string_view why) {
    const std::scoped_lock lock(state_.mutex);
    state_.is_refused = true;
    state_.status.refused(why);
    for (Place& followed : state_.there()) {
      followed.feed->refuse(filter::State::refused, why);
    }
    state_.report_patterned(filter::State::refused, why);
  }
  void expire_all() {
    const std::scoped_lock lock(state_.mutex);
    for (Place& followed : state_.there()) {
      followed.feed->expire();
    }
  }

 private:
  using State = TableSetState<Log>;
  using Place = TablePlace<Log>;

  static constexpr std::string_view kInPart = "a transaction may have been applied only in part";
  static constexpr std::string_view kLacks =
      "the server has transactions that its log does not have (gtid_purged was set, or they were "
      "committed with sql_log_bin = 0)";

  void prove_what_is_covered() {
    if (!state_.why_void.empty() || state_.applier->is_expecting()) {
      return;
    }
    const auto at = state_.proofs.take_proven(state_.applier->position(), state_.applier->place());
    if (state_.proofs.is_lacking(state_.applier->position(), state_.applier->place())) {
      state_.make_void(kLacks);
      return;
    }
    if (!at) {
      return;
    }
    state_.status.proven(*at);
    for (Place& followed : state_.there()) {
      const bool is_there =
          followed.is_in_step() && followed.current->feed.has_reached(state_.applier->position());
      followed.feed->published().set_facts(
          {.is_ready = is_there && followed.is_in_step_for_good(),
           .why = followed.current ? followed.current->why_out_of_step : std::string_view(),
           .largest_id = followed.feed->ids_grow() ? followed.feed->largest_id() : 0});
      if (is_there) {
        followed.feed->measure_growth(*at);
        followed.feed->prove(followed.is_in_step_for_good() ? *at
                                                            : std::min(*at, state_.committed_at));
      }
    }
    state_.mark();
    state_.feeds.publication().set_doubt(state_.patterned.doubt().has_value());
    state_.feeds.publication().proven(*at);
    state_.asking.proven();
  }
  void check_view(const typename Log::Committed& committed, TableRows<Log>* rows) {
    if (rows != nullptr && !rows->is_out_of_step && rows->view &&
        rows->view->may_lack(committed, *state_.applier)) {
      state_.take_out_of_step(*rows, "its snapshot may lack rows that were committed since");
    }
  }
  void erase_what_is(const typename Log::Committed& committed, Place& followed) {
    if (!followed.is_in_step()) {
      return;
    }
    TableRows<Log>& rows = *followed.current;
    if (const auto made = rows.feed.make_erasures(committed); !made) {
      state_.take_out_of_step(rows, made.error());
    }
  }
  // Before the log goes on.
  bool must_wait() const {
    // A log that is resumed must show its last group first: before that no word of the server
    // counts.
    return state_.pauses > 0 || is_any_load_full() ||
           (!state_.applier->is_expecting() &&
            std::ranges::any_of(state_.tables, [](const Place& followed) {
              return followed.is_in_step() && followed.current->feed.has_too_many_erasures();
            }));
  }
  bool is_any_load_full() const {
    return std::ranges::any_of(state_.tables, [](const Place& followed) {
      return followed.next && followed.next->feed.pending().is_full();
    });
  }
  // A table whose definition was not logged, or that we were not shown.
  void see_table(std::string_view schema, std::string_view table) {
    if (schema != state_.schema || state_.patterned.doubt()) {
      return;
    }
    const bool is_news = std::ranges::any_of(state_.patterned.targets(), [&](const Target& target) {
      return PatternedTables::matches(target, table) &&
             std::ranges::none_of(state_.there(), [&](const Place& followed) {
               return followed.feed->target().ns == target.ns && followed.feed->table() == table;
             });
    });
    if (is_news) {
      state_.patterned.begin_doubt();
    }
  }

  State& state_;
};

}  // namespace cuckooguard::source
