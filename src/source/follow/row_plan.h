// Which columns of a table's rows are read, and what for; and how a planner chooses them, whatever
// the kind of database is.
//
// Threads: plain values, free functions. Errors: a sentence for the operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace.h"
#include "keyspace/row_condition.h"
#include "source/source.h"
#include "text/try.h"

namespace cuckooguard::source {

// Of a table that has `columns`; all places are in those.
struct RowPlan {
  std::vector<std::size_t> identity;           // in identity order
  keyspace::RowCondition condition;            // the rows that count
  std::vector<std::size_t> condition_columns;  // as condition.columns()
  std::vector<std::size_t> primary_key;        // what the log names a row by, in key order
  bool key_is_readable = true;                 // a snapshot and the log give the same text of it
  bool grows = false;               // the identity is one column that the server counts up
  bool identity_is_unique = false;  // a NOT NULL unique key: one row, one identity

  // Columns of a row as they are read: identity, condition, primary key; each once.
  std::vector<std::size_t> needed() const;
  // Of one that is needed: its text is of no use, and may be long, or not exist. What is read of it
  // is NULL or anything else.
  bool is_null_only(std::size_t column) const;
  bool operator==(const RowPlan&) const = default;
};

// The name that a row of a server's answer has; empty: NULL.
inline std::string_view first_of(const std::vector<std::optional<std::string>>& row) {
  const std::optional<std::string>& name = row.front();
  return name ? std::string_view(*name) : std::string_view();
}

// That `deletes: trusted` is not wanted, or may be.
std::expected<void, std::string> distrusted(const RowPlan& plan,
                                            const Target& target,
                                            std::string_view quoted_table);

// `column_named(name)`: its place, or a sentence. `quote`: of names, as this SQL has it. A kind's
// own unreadable(), ambiguous() and undecidable() judge its columns.
template <class Table, class ColumnNamed>
std::expected<void, std::string> choose_identity(Table& table,
                                                 const Target& target,
                                                 char quote,
                                                 const ColumnNamed& column_named) {
  const auto placeholders = target.keyspace.templates(target.ns).front().placeholders();
  for (const std::string& name : target.keyspace.identity_columns(target.ns)) {
    const auto place = TRY(column_named(target.settings.source.column_of(name)));
    const auto& column = table.columns[place];
    const auto placeholder = std::ranges::find(placeholders, name, &keyspace::Placeholder::name);
    if (auto why = unreadable(column)) {
      return std::unexpected(*why);
    }
    if (auto why = ambiguous(column, *placeholder)) {
      return std::unexpected(*why);
    }
    if (std::ranges::count(table.identity, place) > 0) {
      return std::unexpected(
          std::string("column ") + quote + column.name + quote +
          " is used for two placeholders; map each placeholder to its own column");
    }
    table.identity.push_back(place);
  }
  return {};
}

template <class Table, class ColumnNamed>
std::expected<void, std::string> choose_condition(Table& table,
                                                  const Target& target,
                                                  const ColumnNamed& column_named) {
  table.condition = target.settings.source.where;
  for (const std::string& name : table.condition.columns()) {
    const auto place = column_named(name);
    if (!place) {
      return std::unexpected("where: " + place.error());
    }
    const auto use = table.condition.use_of(table.condition_columns.size());
    if (auto why = undecidable(table.columns[*place], use)) {
      return std::unexpected("where: " + *why);
    }
    table.condition_columns.push_back(*place);
  }
  return {};
}

}  // namespace cuckooguard::source
