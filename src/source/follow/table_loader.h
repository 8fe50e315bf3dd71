// Reads tables into filters while the log goes on, once, on a thread of its own.
//
//   connect ─▶ for each table:
//     plan ─▶ collect what the log says ─▶ open a view ─▶ has anything changed since the plan?
//                                                                  │
//       rows ─▶ filter ─▶ publish, with what the log said meanwhile ◀┘
//
// The log's word is kept before the view is opened, and everything that it said before is visible
// in the view: so nothing falls between the two. Each table is read in a view of its own, whose
// locks end with it; and when somebody waits for one the table is given up, to be read again
// (Reader::is_somebody_waiting).
//
// What was read of a table is counted against the server's own count in that view, where that is
// kRowsCounted at most: a count scans an index from end to end, as the load has just done, which is
// not noticed of a small table and is of a large one.
// Limit: what leaves out rows of a table and still gives more than kRowsCounted is not noticed by
// their number.
//
// Threads: its own; construction starts it, destruction stops and joins it. Lifetimes: the set
// outlives it. Errors: none; a table that could not be read is due again, and says why, while the
// others are read. Limits: one view, for as long as its table takes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "follow/table_set.h"
#include "source/filter_load.h"
#include "text/try.h"

namespace cuckooguard::source {

// What it asks of a Log::Reader, which Reader::open(settings) gives:
//   list(tables)              set the tables of patterns, if that is due
//   plan(target, table)       a Plan; a sentence for the operator, or an Error
//   open_view(from, tables, stop)   that shows all up to `from`; close_view()
//   size(plan), count(plan)   in the view: a TableEstimate; the number of rows, as text
//   stream(plan)              next(): RowValues, nothing at the end
//   is_somebody_waiting(plan) interrupt(): from any thread; it is lost from then on
template <class Log>
class TableLoader : boost::noncopyable {
 public:
  using Reader = typename Log::Reader;
  using Error = typename Log::Error;
  using View = typename Log::View;
  using Plan = typename Log::Plan;
  using Rows = TableRows<Log>;

  static constexpr std::uint64_t kRowsCounted = 1'000'000;

  TableLoader(typename Reader::Settings settings,
              Clock clock,
              TableSet<Log>& tables,
              std::vector<TableIndex> chosen)
      : settings_(std::move(settings)),
        clock_(std::move(clock)),
        tables_(tables),
        chosen_(std::move(chosen)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  bool has_ended() const { return has_ended_; }

 private:
  using Done = std::expected<void, Error>;

  static constexpr std::uint64_t kRowsPerStopCheck = 4096;
  static constexpr std::string_view kLogIsNotRead = "the log is not being followed";

  struct Planned {
    TableIndex index;
    const Rows* rows;
  };

  static std::unexpected<Error> failed(std::string why) {
    Error error;
    error.what = std::move(why);
    return std::unexpected(std::move(error));
  }

  void run(const std::stop_token& stop) {
    std::optional<Error> error;
    try {
      auto reader = Reader::open(settings_);
      if (!reader) {
        error = reader.error();
        tables_.listing.fail(error->what, error->is_refusal());
      } else {
        const std::stop_callback wake(stop, [&reader] { reader->interrupt(); });
        if (const auto done = load(*reader, stop); !done) {
          error = done.error();
        }
      }
    } catch (const std::exception& trouble) {  // no memory, say
      error = failed(trouble.what()).error();
      tables_.listing.fail(error->what, false);
    }
    for (const TableIndex index : chosen_) {
      if (error) {
        fail(index, *error);
      } else {
        tables_.loads.give_back(index);
      }
    }
    has_ended_ = true;
  }
  // An error: of all that are left.
  Done load(Reader& reader, const std::stop_token& stop) {
    TRY(reader.list(tables_));
    std::erase_if(chosen_, [this](TableIndex index) { return tables_.listing.is_gone(index); });
    while (!chosen_.empty() && !stop.stop_requested()) {
      const TableIndex index = chosen_.front();
      const auto done = load(index, reader, stop);
      if (stop.stop_requested()) {
        return {};
      }
      if (!done && done.error().what == kLogIsNotRead) {
        return done;
      }
      if (!done) {
        fail(index, done.error());
      }
      std::erase(chosen_, index);
      if (!reader.close_view()) {
        return {};  // it was given up: the next loader has another one for the rest
      }
    }
    return {};
  }
  Done load(TableIndex index, Reader& reader, const std::stop_token& stop) {
    auto plan = reader.plan(tables_.target(index), tables_.table(index));
    if (!plan) {
      if (const auto* const why = std::get_if<std::string>(&plan.error())) {
        tables_.loads.refuse(index, filter::State::refused, *why);
        return {};
      }
      return std::unexpected(std::get<Error>(plan.error()));
    }
    const Planned planned{.index = index, .rows = &tables_.loads.collect(index, *std::move(plan))};
    const std::vector<TableIndex> indexes{index};
    const TimePoint began = clock_();
    const auto collected_from = tables_.loads.wait_until_collecting(indexes, stop, prepared_wait_);
    if (!collected_from) {
      return failed(std::string(kLogIsNotRead));
    }
    prepared_wait_ = std::max(prepared_wait_ - (clock_() - began), {});
    const auto view = TRY(reader.open_view(*collected_from, tables_, stop));
    // Or it has changed before the log's word was kept, so that nobody would speak of it.
    const auto now = reader.plan(tables_.target(index), tables_.table(index));
    if (!now || *now != planned.rows->plan) {
      return failed("the definition of table `" + planned.rows->plan.name + "` has just changed");
    }
    TRY(settle(planned, view, stop));
    return read(planned, reader, stop);
  }
  void fail(TableIndex index, const Error& error) {
    tables_.loads.fail(
        index, error.what, error.is_refusal() ? filter::State::refused : filter::State::loading);
  }
  Done settle(const Planned& planned, const View& view, const std::stop_token& stop) {
    if (!tables_.loads.view_is(planned.index, view, clock_())) {
      return failed("too many rows changed while the snapshot was being opened");
    }
    if (!tables_.loads.wait_until_past(view, stop)) {
      return failed(std::string(kLogIsNotRead));
    }
    tables_.loads.settle(planned.index);
    const Plan& plan = planned.rows->plan;
    if (planned.rows->feed.pending().has_settled() && !plan.key_is_readable) {
      return failed(
          "rows of table `" + plan.name +
          "` changed while the snapshot was being opened, and the type of a primary key column "
          "(such as FLOAT, DOUBLE or UUID) does not allow matching them with its rows");
    }
    return {};
  }
  Done read(const Planned& planned, Reader& reader, const std::stop_token& stop) {
    const Plan& plan = planned.rows->plan;
    const auto size = TRY(reader.size(plan));
    const auto deletes = chosen_deletes(tables_.target(planned.index).settings.filter.deletes,
                                        plan.identity_is_unique);
    FilterLoad load = tables_.loads.load(planned.index);
    auto intake = Intake::too_small;
    while (intake == Intake::too_small) {
      intake = load.begin(size.rows, deletes);
      if (intake == Intake::taken) {
        if (plan.grows) {
          load.ids_grow(size.next_id > 0 ? size.next_id - 1 : 0);
        }
        intake = TRY(read_rows(planned, load, reader, stop));
      }
    }
    if (intake == Intake::refused) {
      tables_.loads.refuse(planned.index, filter::State::unsynced, load.why_refused());
      return {};
    }
    if (auto published = tables_.loads.publish(planned.index, std::move(load)); !published) {
      tables_.loads.fail(planned.index, published.error());
    }
    return {};
  }
  static std::expected<Intake, Error> complete(FilterLoad& load,
                                               const Plan& plan,
                                               std::uint64_t rows,
                                               Reader& reader) {
    if (rows <= kRowsCounted) {
      const auto count = TRY(reader.count(plan));
      const std::string read = std::to_string(rows);
      if (count != read) {
        return failed("the server counts " + count.value_or("no") + " rows of table `" + plan.name +
                      "` but returned " + read);
      }
    }
    return load.complete();
  }
  std::expected<Intake, Error> read_rows(const Planned& planned,
                                         FilterLoad& load,
                                         Reader& reader,
                                         const std::stop_token& stop) {
    const Rows& table = *planned.rows;
    auto rows = TRY(reader.stream(table.plan));
    const auto& pending = table.feed.pending();
    const bool has_settled = pending.has_settled();
    for (std::uint64_t n = 1;; ++n) {
      const std::optional<RowValues> found = TRY(rows.next());
      if (!found) {
        return complete(load, table.plan, n - 1, reader);
      }
      const RowValues row = *found;
      // One for which the log has the last word is left to it.
      const bool is_wanted =
          !(has_settled && pending.is_settled(table.table.name_of(row))) && table.feed.counts(row);
      const auto intake =
          is_wanted ? load.add(LogFeed<Log>::identity(table.plan, row)) : Intake::taken;
      if (intake != Intake::taken) {
        if (intake == Intake::refused) {
          reader.interrupt();  // or all rows that are left would be read, with the lock held
        }
        return intake;
      }
      if (n % kRowsPerStopCheck != 0) {
        continue;
      }
      if (auto why = why_to_stop(planned, reader, stop)) {
        reader.interrupt();  // or all rows that are left would be read, with the lock held
        return failed(*std::move(why));
      }
    }
  }
  std::optional<std::string> why_to_stop(const Planned& planned,
                                         Reader& reader,
                                         const std::stop_token& stop) {
    const Plan& plan = planned.rows->plan;
    if (stop.stop_requested()) {
      return "stopped";
    }
    if (tables_.loads.is_outdated(planned.index)) {
      return "table `" + plan.name + "` changed while it was being read";
    }
    if (reader.is_somebody_waiting(plan)) {
      return "a session is waiting for a lock on table `" + plan.name +
             "` that the guard holds while reading (for an ALTER, for example): releasing it and "
             "reading again";
    }
    return std::nullopt;
  }

  typename Reader::Settings settings_;
  Clock clock_;
  TableSet<Log>& tables_;
  std::vector<TableIndex> chosen_;  // not yet done with
  // For all of them together: of a transaction that stays prepared each would wait.
  std::chrono::nanoseconds prepared_wait_ = TableSetTimes::kPreparedWaitMax;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

}  // namespace cuckooguard::source
