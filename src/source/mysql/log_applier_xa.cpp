// XA transactions: their rows come with XA PREPARE, and count when their verdict does.
#include <algorithm>
#include <utility>

#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {

bool LogApplier::is_prepared_before(const FollowedTable& table) const {
  return tables_.has(table) && prepared_.is_any_before(tables_.join_of(table));
}

LogApplier::Applied LogApplier::on(const binlog::XaPrepare& prepare) {
  if (prepare.is_one_phase) {
    return commit();
  }
  for (FollowedTable* const table : std::exchange(unread_, {})) {
    put_out_of_step(*table,
                    "rows of an XA transaction that it has not committed yet are unreadable");
  }
  PreparedTransactions::Rows rows{.tables = {}, .joins = tables_.joins()};
  for (FollowedTable* const table : tables_.all()) {
    if (table->is_touched()) {
      rows.tables.emplace_back(table, table->park());
    }
  }
  if (!is_covered_ && !prepared_.add(prepare.xid, std::move(rows))) {
    put_all_out_of_step("too many XA transactions are prepared, or they have too many rows");
  }
  return finish();
}

LogApplier::Applied LogApplier::end_xa(const std::optional<binlog::Xid>& xid, bool commits) {
  if (is_covered_) {
    return finish();
  }
  const auto rows = xid ? prepared_.end(*xid) : std::nullopt;
  if (commits && rows) {
    commit_prepared(*rows);
  } else if (commits) {
    put_all_out_of_step("an XA transaction was committed whose rows were not seen");
  }
  return finish();
}

void LogApplier::judge(Committed& committed) {
  committed.place = witness_.hear(committed);
  committed.has_xa = std::ranges::none_of(committed.listed, [this](const binlog::Xid& xid) {
    return prepared_.state(xid) == XaState::ended;
  });
  committed.listed.clear();  // of no more use to those who keep it
}

void LogApplier::commit_prepared(const PreparedTransactions::Rows& rows) {
  const CommitMark mark = this->mark(true);
  put_late_out_of_step(rows);
  for (const auto& [table, transaction] : rows.tables) {
    if (const auto changed = table->target().insert(mark, transaction); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
  for (const auto& [table, transaction] : rows.tables) {
    if (!has_joined(*table)) {
      continue;
    }
    if (const auto changed = table->target().erase(mark, transaction); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
}

// Tables that do not know its rows.
void LogApplier::put_late_out_of_step(const PreparedTransactions::Rows& rows) {
  for (FollowedTable* const table : tables_.all()) {
    if (tables_.join_of(*table) > rows.joins && !tables_.is_waiting(*table)) {
      put_out_of_step(*table, "an XA transaction was committed whose rows were not kept");
    }
  }
}

}  // namespace cuckooguard::source::mysql
