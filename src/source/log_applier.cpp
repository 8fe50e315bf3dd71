#include "source/log_applier.h"

#include <algorithm>
#include <variant>

namespace cuckooguard::source {

using binlog::QueryKind;

LogApplier::LogApplier(LogPosition position, Calls calls)
    : position_(std::move(position)), calls_(std::move(calls)) {}

// Of a transaction that is being read already a table would see the rest alone.
void LogApplier::join(FollowedTable& table) {
  tables_.join(table);
  if (!gtid_) {
    tables_.admit();
  }
}

void LogApplier::leave(FollowedTable& table) {
  tables_.leave(table);
  std::erase(unread_, &table);
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
  tables_.admit();
  for (FollowedTable* const table : tables_.all()) {
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

LogApplier::Applied LogApplier::begin(const LogGtid& gtid) {
  if (gtid_) {  // it had no end: the server was killed while it wrote it, and has rolled it back
    for (FollowedTable* const table : tables_.all()) {
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
  for (FollowedTable* const table : tables_.all()) {
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
  for (FollowedTable* const table : tables_.all()) {
    if (!table->is_touched()) {
      continue;
    }
    if (const auto changed = table->commit_inserts(mark()); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
  for (FollowedTable* const table : tables_.all()) {
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

// The transaction is over, whatever it was.
LogApplier::Applied LogApplier::finish() {
  is_in_group_ = false;
  maps_.clear();
  if (!gtid_) {
    return false;
  }
  const LogGtid gtid = *gtid_;
  gtid_.reset();
  tables_.admit();
  if (is_covered_) {
    return false;
  }
  if (!position_.add(gtid)) {
    return std::unexpected("the position has too many parts");
  }
  has_moved_ = true;
  return true;
}

}  // namespace cuckooguard::source
