// One table of a set: the rows that are followed, those that are being read, and when it is to be
// read again.
//
// Threads: under its lock, but that whoever loads a table may read its plan and name_of() without.
// Lifetimes: the feed outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "follow/log_feed.h"
#include "follow/reread_pace.h"
#include "source/feed.h"
#include "source/source.h"

namespace cuckooguard::source {

// A table as it was planned, on its way from the log into the feed's filter.
template <class Log>
struct TableRows {
  using Proofs = PositionProofs<typename Log::Position, typename Log::Place>;

  TableRows(typename Log::Plan planned, Feed& owner, const Proofs& proofs)
      : plan(std::move(planned)), feed(owner, plan, proofs), table(plan, feed) {}

  typename Log::Plan plan;
  LogFeed<Log> feed;
  typename Log::Table table;
  bool is_out_of_step = false;
  std::string why_out_of_step{};
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
};

}  // namespace cuckooguard::source
