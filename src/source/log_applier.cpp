#include "source/log_applier.h"

#include <algorithm>
#include <variant>

namespace cuckooguard::source {

using binlog::QueryKind;

LogApplier::LogApplier(LogPosition position, Calls calls)
    : position_(std::move(position)), calls_(std::move(calls)) {}

// Of a transaction that is being read already a table would see the rest alone.
void LogApplier::join(FollowedTable& table) {
  joining_.push_back(&table);
  if (!gtid_) {
    admit_joining();
  }
}

bool LogApplier::has_joined(const FollowedTable& table) const {
  return std::ranges::find(tables_, &table) != tables_.end();
}

bool LogApplier::is_prepared_before(const FollowedTable& table) const {
  const auto joined = joined_at_.find(&table);
  return joined != joined_at_.end() && prepared_.is_any_before(joined->second);
}

void LogApplier::admit_joining() {
  tables_.insert(tables_.end(), joining_.begin(), joining_.end());
  for (const FollowedTable* const table : joining_) {
    joined_at_[table] = ++joins_;
  }
  joining_.clear();
}

void LogApplier::leave(FollowedTable& table) {
  std::erase(tables_, &table);
  std::erase(joining_, &table);
  std::erase(waiting_, &table);
  std::erase(unread_, &table);
  joined_at_.erase(&table);
  std::erase_if(maps_, [&table](const auto& map) { return map.second == &table; });
  table.roll_back();
  prepared_.forget(table);
}

void LogApplier::reconnected(binlog::ChecksumAlgorithm checksum) {
  decoder_ = binlog::EventDecoder({.checksum = checksum});
  maps_.clear();
  gtid_.reset();
  is_in_group_ = false;
  has_moved_ = false;
  place_ = {};
  admit_joining();
  for (FollowedTable* const table : tables_) {
    table->roll_back();
  }
}

std::expected<bool, std::string> LogApplier::apply(std::string_view event) {
  const auto decoded = decoder_.decode(event);
  if (!decoded) {
    return std::unexpected("an event of the binary log: " +
                           std::string(binlog::describe(decoded.error())));
  }
  place_.pass(*decoded);
  return apply_body(decoded->body);
}

LogApplier::Applied LogApplier::apply_body(const binlog::EventBody& body) {
  return std::visit([this](const auto& event) { return on(event); }, body);
}

LogApplier::Applied LogApplier::on(const binlog::MariaDbTransaction& begun) {
  is_in_group_ = !begun.is_standalone && !begun.completes_xa;
  return begin(begun.gtid);
}

LogApplier::Applied LogApplier::on(const binlog::MySqlTransaction& begun) {
  is_in_group_ = false;  // BEGIN comes as a QUERY
  if (begun.is_anonymous) {
    put_all_out_of_step("the server has logged a transaction without a GTID");
    gtid_.reset();
    return false;
  }
  return begin(begun.gtid);
}

// What was applied comes again only at the beginning of a stream, if ever, and from the server that wrote it.
// With gtid_strict_mode off, two servers that write at once may log the smaller number last; and so may one, for
// whom old numbers were set (a log that was fed to it again).
bool LogApplier::is_out_of_order(const LogGtid& gtid) const {
  return position_.is_disordered_by(gtid) ||
         (has_moved_ && position_.is_mariadb() && position_.covers(gtid));
}

LogApplier::Applied LogApplier::begin(const LogGtid& gtid) {
  if (gtid_) {  // it had no end: the server was killed while it wrote it, and has rolled it back
    for (FollowedTable* const table : tables_) {
      table->roll_back();
    }
  }
  if (is_out_of_order(gtid)) {
    gtid_.reset();  // no checkpoint's position tells, either
    put_all_out_of_step(
        "the log's GTIDs are out of order: let servers that write at once have a gtid_domain_id "
        "each, or SET GLOBAL gtid_strict_mode = ON");
    is_covered_ = false;
  } else {
    is_covered_ = position_.covers(gtid);
  }
  gtid_ = gtid;
  maps_.clear();
  unread_.clear();
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::TableMap& map) {
  std::erase_if(maps_, [&map](const auto& known) { return known.first == map.table_id; });
  bool is_followed = false;
  for (FollowedTable* const table : std::vector(tables_)) {
    if (!table->is(map.schema, map.table)) {
      continue;
    }
    is_followed = true;
    if (const auto known = table->map(map, decoder_.is_mariadb()); !known) {
      if (is_news_to(*table)) {
        put_out_of_step(*table, known.error());
      } else {
        unread_.push_back(table);
      }
    } else {
      maps_.emplace_back(map.table_id, table);
    }
  }
  if (!is_followed && !is_covered_) {
    calls_.on_other_table(map.schema, map.table);
  }
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Rows& rows) {
  if (is_covered_) {
    return false;
  }
  for (const auto& [id, table] : std::vector(maps_)) {
    if (id != rows.table_id) {
      continue;
    }
    if (!gtid_) {
      put_out_of_step(*table, "the log has rows that belong to no transaction");
    } else if (const auto added = table->rows(rows); !added) {
      put_out_of_step(*table, added.error());
    }
  }
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Query& query) {
  const auto verdict = binlog::judge_query(query.text);
  switch (verdict.kind) {
    case QueryKind::begin:
    case QueryKind::xa_begin:
      is_in_group_ = true;
      return false;
    case QueryKind::commit:
      return commit();
    case QueryKind::rollback:
      return roll_back();
    case QueryKind::savepoint:
    case QueryKind::xa_end:
      return false;
    case QueryKind::rollback_to_savepoint:
      put_touched_out_of_step();
      return false;
    case QueryKind::xa_commit:
      return end_xa(verdict.xid, true);
    case QueryKind::xa_rollback:
      return end_xa(verdict.xid, false);
    case QueryKind::administrative:
      break;
    case QueryKind::truncate:
    case QueryKind::drop:
    case QueryKind::alter:
    case QueryKind::rename:
    case QueryKind::create:
    case QueryKind::other_definition:
      on_definition(query);
      break;
    case QueryKind::dml:
    case QueryKind::xa_prepare:
    case QueryKind::unknown:
      if (!is_covered_) {
        put_all_out_of_step("the log has a statement instead of rows: " +
                            std::string(query.text.substr(0, 100)));
      }
      break;
  }
  return is_in_group_ ? Applied(false) : finish();
}

void LogApplier::on_definition(const binlog::Query& query) {
  if (is_covered_) {
    return;
  }
  calls_.on_definition();
  for (FollowedTable* const table : std::vector(tables_)) {
    const MysqlTable& plan = table->plan();
    const bool may_be_meant =
        binlog::may_name(query.text, plan.name) || binlog::may_name(query.text, plan.schema);
    if (may_be_meant && is_news_to(*table)) {
      put_out_of_step(*table,
                      "its definition may have changed: " + std::string(query.text.substr(0, 100)));
    }
  }
}

LogApplier::Applied LogApplier::on(const binlog::XaPrepare& prepare) {
  if (prepare.is_one_phase) {
    return commit();
  }
  for (FollowedTable* const table : std::exchange(unread_, {})) {
    put_out_of_step(*table,
                    "rows of an XA transaction that it has not committed yet are unreadable");
  }
  PreparedTransactions::Rows rows{.tables = {}, .joins = joins_};
  for (FollowedTable* const table : tables_) {
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

void LogApplier::commit_prepared(const PreparedTransactions::Rows& rows) {
  put_late_out_of_step(rows);
  for (const auto& [table, transaction] : rows.tables) {
    if (const auto changed = table->target().insert(mark(true), transaction); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
  for (const auto& [table, transaction] : rows.tables) {
    if (!has_joined(*table)) {
      continue;
    }
    if (const auto changed = table->target().erase(mark(true), transaction); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
}

LogApplier::Applied LogApplier::on(const binlog::TransactionPayload& payload) {
  payload_.open(payload);
  bool has_moved = false;
  for (;;) {
    const auto event = payload_.next();
    if (!event) {
      return std::unexpected("a compressed transaction: " +
                             std::string(binlog::describe(event.error())));
    }
    if (event->empty()) {
      return has_moved;
    }
    const auto decoded = decoder_.decode_payload_event(*event);
    if (!decoded) {
      return std::unexpected("an event of a compressed transaction: " +
                             std::string(binlog::describe(decoded.error())));
    }
    const auto applied = apply_body(decoded->body);
    if (!applied) {
      return applied;
    }
    has_moved = has_moved || *applied;
  }
}

LogApplier::Applied LogApplier::on(const binlog::PartialUpdate& update) {
  for (const auto& [id, table] : std::vector(maps_)) {
    if (id == update.table_id && !is_covered_) {
      put_out_of_step(
          *table,
          "the log has a JSON value changed in part: SET GLOBAL binlog_row_value_options = ''");
    }
  }
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Incident&) {
  put_all_out_of_step("the server has lost changes that it should have logged");
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Unknown&) {
  put_all_out_of_step("the log has an event of an unknown kind");
  return false;
}

LogApplier::Applied LogApplier::commit() {
  for (FollowedTable* const table : std::vector(tables_)) {
    if (!table->is_touched()) {
      continue;
    }
    if (const auto changed = table->commit_inserts(mark()); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
  for (FollowedTable* const table : std::vector(tables_)) {
    if (!table->is_touched()) {
      continue;
    }
    if (const auto changed = table->commit_erases(mark()); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
  return finish();
}

LogApplier::Applied LogApplier::roll_back() {
  put_touched_out_of_step();
  return finish();
}

// Rows were logged and taken back, all or in part: which ones stay depends on their tables' engines.
void LogApplier::put_touched_out_of_step() {
  for (FollowedTable* const table : std::vector(tables_)) {
    if (table->is_touched()) {
      put_out_of_step(*table, "a transaction was rolled back after it was logged");
    }
  }
}

// The transaction is over, whatever it was.
LogApplier::Applied LogApplier::finish() {
  is_in_group_ = false;
  maps_.clear();
  if (!gtid_) {
    return false;
  }
  const LogGtid gtid = *gtid_;
  gtid_.reset();
  admit_joining();
  if (is_covered_) {
    return false;
  }
  if (!position_.add(gtid)) {
    return std::unexpected("the position has too many parts");
  }
  has_moved_ = true;
  return true;
}

bool LogApplier::is_news_to(const FollowedTable& table) const {
  return !gtid_ || !table.target().has(*gtid_);
}

void LogApplier::put_out_of_step(FollowedTable& table, std::string_view why) {
  leave(table);
  calls_.on_out_of_step(table, why);
}

// Tables that do not know its rows.
void LogApplier::put_late_out_of_step(const PreparedTransactions::Rows& rows) {
  for (FollowedTable* const table : std::vector(tables_)) {
    if (joined_at_.at(table) > rows.joins && std::ranges::find(waiting_, table) == waiting_.end()) {
      put_out_of_step(*table, "an XA transaction was committed whose rows were not kept");
    }
  }
}

void LogApplier::put_all_out_of_step(std::string_view why) {
  calls_.on_definition();
  for (FollowedTable* const table : std::vector(tables_)) {
    if (is_news_to(*table)) {
      put_out_of_step(*table, why);
    }
  }
}

}  // namespace cuckooguard::source
