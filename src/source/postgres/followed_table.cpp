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

PostgresFollowedTable::Done PostgresFollowedTable::relation(const pgoutput::Relation& relation) {
  places_.clear();
  const PostgresTable& planned = plan();
  if (!is(relation.schema, relation.name)) {
    return changed("it is called \"" + std::string(relation.schema) + "\".\"" +
                   std::string(relation.name) + "\" in the log");
  }
  if (relation.oid != planned.oid) {
    return changed("another one has taken its name");
  }
  const bool is_full = relation.replica_identity == ReplicaIdentity::full;
  if (relation.replica_identity == ReplicaIdentity::nothing || is_full != planned.has_full_rows) {
    return changed("its REPLICA IDENTITY is another one");
  }
  if (relation.columns.size() != planned.columns.size()) {
    return changed("it has " + std::to_string(relation.columns.size()) +
                   " columns in the log and " + std::to_string(planned.columns.size()) +
                   " in the catalog");
  }
  for (std::size_t i = 0; i < planned.columns.size(); ++i) {
    const PostgresColumn& column = planned.columns[i];
    const pgoutput::RelationColumn& logged = relation.columns[i];
    if (logged.name != column.name) {
      return changed("column \"" + column.name + "\" is called \"" + std::string(logged.name) +
                     "\" in the log");
    }
    if (const auto how = difference(column, logged)) {
      return changed("column \"" + column.name + "\" " + *how);
    }
  }
  for (const std::size_t column : needed()) {
    if (!is_full && planned.columns[column].replica_key == 0) {
      return changed("the log does not have column \"" + planned.columns[column].name +
                     "\" of deleted rows");
    }
    places_.push_back(column);
  }
  tuple_columns_ = relation.columns.size();
  return {};
}

// It may have more columns in its key, and all in another order.
PostgresFollowedTable::Done PostgresFollowedTable::partition(
    const pgoutput::Relation& partition) const {
  const bool is_full = partition.replica_identity == ReplicaIdentity::full;
  const auto is_named = [&](std::size_t column) {
    const auto logged = std::ranges::find(
        partition.columns, plan().columns[column].name, &pgoutput::RelationColumn::name);
    return logged != partition.columns.end() && logged->is_key;
  };
  if (partition.replica_identity == ReplicaIdentity::nothing || is_full != plan().has_full_rows ||
      !(is_full || std::ranges::all_of(needed(), is_named))) {
    return changed("the REPLICA IDENTITY of its partition \"" + std::string(partition.name) +
                   "\" is another one");
  }
  return {};
}

std::optional<std::string> PostgresFollowedTable::difference(
    const PostgresColumn& planned, const pgoutput::RelationColumn& logged) const {
  if (logged.type != planned.logged_oid || logged.type_modifier != planned.modifier) {
    return "is " + planned.type_name + " in the catalog and of another type in the log";
  }
  if (!plan().has_full_rows && logged.is_key != (planned.replica_key > 0)) {
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
  if (places_.empty()) {
    return not_understood("without its description");
  }
  if (row.size() != tuple_columns_ || (!before.empty() && before.size() != tuple_columns_)) {
    return not_understood("of " + std::to_string(row.size()) + " columns instead of " +
                          std::to_string(tuple_columns_));
  }
  values.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Value* value = &row[places_[i]];
    if (value->state == Value::State::unchanged && !before.empty()) {
      value = &before[places_[i]];
    }
    const std::string& column = plan().columns[needed()[i]].name;
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
