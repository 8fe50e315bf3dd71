#include "postgres/followed_table.h"

#include <algorithm>

namespace cuckooguard::source {

using pgoutput::OldRow;
using pgoutput::ReplicaIdentity;
using pgoutput::Value;

std::unexpected<std::string> PostgresFollowedTable::changed(const std::string& how) const {
  return std::unexpected("table \"" + plan().name + "\" has changed: " + how);
}

std::unexpected<std::string> PostgresFollowedTable::not_understood(const std::string& what) const {
  return std::unexpected("the log has a row of table \"" + plan().name + "\" " + what);
}

bool PostgresFollowedTable::has(pgoutput::Oid oid) const {
  return oid == plan().oid || std::ranges::binary_search(plan().parts, oid);
}

PostgresFollowedTable::Done PostgresFollowedTable::relation(const pgoutput::Relation& relation,
                                                            bool is_news) {
  is_described_ = false;
  const PostgresTable& planned = plan();
  if (relation.oid != planned.oid) {
    return changed("another one has taken its name");
  }
  if (is_news && !is(relation.schema, relation.name)) {
    return changed("it is called \"" + std::string(relation.schema) + "\".\"" +
                   std::string(relation.name) + "\" in the log");
  }
  if (is_news || !planned.is_partitioned) {
    if (auto same = compare_identity(relation); !same) {
      return same;
    }
  }
  if (relation.columns.size() != planned.columns.size()) {
    return changed("it has " + std::to_string(relation.columns.size()) +
                   " columns in the log and " + std::to_string(planned.columns.size()) +
                   " in the catalog");
  }
  for (std::size_t i = 0; i < planned.columns.size(); ++i) {
    const PostgresColumn& column = planned.columns[i];
    if (relation.columns[i].name != column.name) {
      return changed("the log has column \"" + std::string(relation.columns[i].name) +
                     "\" where the catalog has \"" + column.name + "\"");
    }
    if (const auto how = difference(column, relation.columns[i], is_news)) {
      return changed("column \"" + column.name + "\" " + *how);
    }
  }
  is_described_ = true;
  return {};
}

PostgresFollowedTable::Done PostgresFollowedTable::compare_identity(
    const pgoutput::Relation& relation) const {
  const bool is_full = relation.replica_identity == ReplicaIdentity::full;
  if (relation.replica_identity == ReplicaIdentity::nothing || is_full != plan().has_full_rows) {
    return changed("its REPLICA IDENTITY is another one");
  }
  for (const std::size_t column : needed()) {
    if (!is_full && plan().columns[column].replica_key == 0) {
      return changed("the log does not have column \"" + plan().columns[column].name +
                     "\" of deleted rows");
    }
  }
  return {};
}

// Its columns may have other places than those of the whole, which is what rows come in.
PostgresFollowedTable::Done PostgresFollowedTable::part(const pgoutput::Relation& relation) const {
  const std::string name = "\"" + std::string(relation.name) + "\"";
  if (!std::ranges::binary_search(plan().parts, relation.oid)) {
    return changed("the log has rows of a partition " + name + " that it did not have");
  }
  const bool is_full = relation.replica_identity == ReplicaIdentity::full;
  if (plan().has_full_rows && !is_full) {
    return changed("the REPLICA IDENTITY of its partition " + name + " is another one");
  }
  for (const std::size_t column : needed()) {
    const auto logged = std::ranges::find(
        relation.columns, plan().columns[column].name, &pgoutput::RelationColumn::name);
    if (logged == relation.columns.end() || (!is_full && !logged->is_key)) {
      return changed("the log does not have column \"" + plan().columns[column].name +
                     "\" of rows deleted from its partition " + name);
    }
  }
  return {};
}

std::optional<std::string> PostgresFollowedTable::difference(const PostgresColumn& planned,
                                                             const pgoutput::RelationColumn& logged,
                                                             bool is_news) const {
  if (logged.type != planned.logged_oid || logged.type_modifier != planned.modifier) {
    return "is " + planned.type_name + " in the catalog and of another type in the log";
  }
  const bool tells_keys = is_news || !plan().is_partitioned;
  if (tells_keys && !plan().has_full_rows && logged.is_key != (planned.replica_key > 0)) {
    return "is part of the key that the log names rows by, or is not, unlike in the catalog";
  }
  return std::nullopt;
}

PostgresFollowedTable::Done PostgresFollowedTable::insert(const pgoutput::Insert& insert) {
  const auto after = read(insert.row, {}, after_);
  return after ? change(std::nullopt, *after) : std::unexpected(after.error());
}

PostgresFollowedTable::Done PostgresFollowedTable::update(const pgoutput::Update& update) {
  if (update.old_row_is == OldRow::none && !plan().has_full_rows) {
    return {};  // the key is as it was, and nothing else is needed
  }
  if (!is_as_planned(update.old_row_is)) {
    return not_understood(
        "without what it was before: REPLICA IDENTITY must be the same for all "
        "partitions");
  }
  const auto before = read(update.old_row, {}, before_);
  const auto after = before ? read(update.new_row, update.old_row, after_) : before;
  return after ? change(*before, *after) : std::unexpected(after.error());
}

PostgresFollowedTable::Done PostgresFollowedTable::erase(const pgoutput::Delete& erase) {
  if (!is_as_planned(erase.old_row_is)) {
    return not_understood("that is gone, by another REPLICA IDENTITY than the table's");
  }
  const auto before = read(erase.old_row, {}, before_);
  return before ? change(*before, std::nullopt) : std::unexpected(before.error());
}

std::expected<RowValues, std::string> PostgresFollowedTable::read(pgoutput::Row row,
                                                                  pgoutput::Row before,
                                                                  Values& values) const {
  if (!is_described_) {
    return not_understood("without its description");
  }
  const std::size_t columns = plan().columns.size();
  if (row.size() != columns || (!before.empty() && before.size() != columns)) {
    return not_understood("of " + std::to_string(row.size()) + " columns instead of " +
                          std::to_string(columns));
  }
  values.clear();
  for (const std::size_t place : needed()) {
    const Value* value = &row[place];
    if (value->state == Value::State::unchanged && !before.empty()) {
      value = &before[place];
    }
    const std::string& column = plan().columns[place].name;
    if (value->state == Value::State::unchanged) {
      return not_understood("without column \"" + column + "\", which has not changed");
    }
    if (value->state == Value::State::binary) {
      return not_understood("whose column \"" + column + "\" is not text");
    }
    values.push_back(value->state == Value::State::null ? std::nullopt
                                                        : std::optional(value->bytes));
  }
  return values;
}

}  // namespace cuckooguard::source
