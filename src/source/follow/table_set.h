// The tables of one server, and the log that is applied to them.
//
//        due ─▶ collecting ─▶ in step ─▶ out of step ─▶ due
//                   └─▶ load failed ─▶ due
//
// A table is read by a TableLoader while the log goes on: what the log says of it meanwhile is kept
// (pending_changes.h), and goes into the new filter before look-ups see it. A table that is read
// again for another reason than doubt stays in step with its old filter until then.
//
// Must: a table that is in step has exactly the rows that the database had at log.position();
// log.prove() makes only such tables fresh, and only if position() covers what is proven.
// (tests/source/mysql/table_set_test.cpp, integration/exactness)
//
// Threads: a monitor, with a side for each that calls it. Errors: values. Limits: beyond
// PendingChanges::kChangesMax log.apply() waits for the load to end: all tables pass after max_lag.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "follow/table_set_checkpoints.h"
#include "follow/table_set_listing.h"
#include "follow/table_set_loads.h"
#include "follow/table_set_log.h"
#include "follow/table_set_state.h"

namespace cuckooguard::source {

template <class Log>
class TableSet {
 private:
  TableSetState<Log> state_;

 public:
  // `schema`: of all tables. `asking`: by whom proofs are waited for.
  TableSet(Feeds feeds, Clock clock, std::string schema, Asking asking = {})
      : state_(std::move(feeds), std::move(clock), std::move(schema), asking) {}

  TableSetLog<Log> log{state_};
  TableSetLoads<Log> loads{state_};
  TableSetCheckpoints<Log> checkpoints{state_};
  TableSetListing<Log> listing{state_};

  // All namespaces.
  std::span<const Target> targets() const { return state_.feeds.targets(); }
  // Places, also of tables that have gone: those are neither due nor in step.
  std::size_t size() {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables.size();
  }
  // Of one that is being read, or before the first load.
  Target target(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed->target();
  }
  std::string table(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed->table();
  }

  // Any thread, without waiting for the set.
  const LogStatus<typename Log::Position>& status() const { return state_.status; }
};

}  // namespace cuckooguard::source
