#include "sqlite/snapshot.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "sqlite/rows.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {

SnapshotReader::SnapshotReader(const Database& database,
                               const std::stop_token& stop,
                               std::function<void()> at_check)
    : database_(database), stop_(stop), at_check_(std::move(at_check)) {}

Done SnapshotReader::read(Feed& feed, filter::DeleteMode deletes) {
  const auto plan = plan_table(database_, feed.target(), feed.table());
  if (!plan) {
    if (const auto* why = std::get_if<std::string>(&plan.error())) {
      feed.refuse(filter::State::refused, *why);
      return {};
    }
    return std::unexpected(std::get<Error>(plan.error()));
  }
  for (;;) {
    const auto reading = read_table(feed, *plan, deletes);
    if (!reading && (reading.error().code & kPrimaryCode) == SQLITE_ERROR) {
      feed.refuse(filter::State::refused,
                  reading.error().what);  // this table's fault, not the database's
      return {};
    }
    if (!reading) {
      return std::unexpected(reading.error());
    }
    if (*reading == Reading::finished) {
      return {};
    }
  }
}

Expected<SnapshotReader::Reading> SnapshotReader::read_table(Feed& feed,
                                                             const TablePlan& plan,
                                                             filter::DeleteMode deletes) {
  // Counting takes a tenth of the time of reading, and the filter then has its right size at once.
  const auto rows = TRY(count(database_, plan.count_sql()));
  auto statement = TRY(database_.prepare(plan.select_sql()));
  if (feed.begin(rows, deletes) == Feed::Intake::refused) {
    return Reading::finished;
  }
  if (plan.grows) {
    const auto used =
        TRY(count(database_, plan.largest_id_sql(), plan.is_autoincrement ? plan.table : ""));
    feed.ids_grow(used);
  }
  return read_rows(feed, plan, statement);
}

Expected<SnapshotReader::Reading> SnapshotReader::read_rows(Feed& feed,
                                                            const TablePlan& plan,
                                                            Statement& statement) {
  Row row(plan);
  for (std::uint64_t count = 1;; ++count) {
    const auto has_row = TRY(statement.step());
    if (has_row && !row.read(statement)) {
      feed.refuse(filter::State::unsynced, row.refusal());
      return Reading::finished;
    }
    auto intake = Feed::Intake::taken;
    if (!has_row) {
      intake = feed.complete();
    } else if (row.counts()) {
      intake = feed.add(row.values());
    }
    if (intake == Feed::Intake::too_small) {
      return Reading::too_small;
    }
    if (!has_row || intake == Feed::Intake::refused) {
      return Reading::finished;
    }
    if (count % kRowsPerCheck == 0) {
      at_check_();
      if (stop_.stop_requested()) {
        return std::unexpected(Error{.code = SQLITE_INTERRUPT, .what = "interrupted"});
      }
    }
  }
}

}  // namespace cuckooguard::source::sqlite
