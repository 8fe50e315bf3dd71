// How one namespace's rows are read from one MariaDB or MySQL table, and the checks that this can
// be done rightly.
//
// What is refused, each with the fix: a table or column that is not there, a view, an engine
// without consistent reads, a table without a primary key; columns that mysql/column.h objects to;
// a log without all columns where others than the primary key are needed;
// `deletes: trusted` where several rows can have one identity; foreign keys whose cascades change
// rows without a word in the log.
//
// Threads: free functions. Errors: a sentence for the operator; Error if the server itself
// failed.
// Source: information_schema and SHOW CREATE TABLE of MariaDB 10.11 and MySQL 9.7; notes on change
// following, 3 and 10.
#pragma once

#include <expected>
#include <string>
#include <variant>
#include <vector>

#include "follow/row_plan.h"
#include "mysql/column.h"
#include "mysql/connection.h"
#include "source/source.h"

namespace cuckooguard::source::mysql {

struct TablePlan : RowPlan {
  std::string schema;
  std::string name;
  std::vector<Column> columns;       // all of them, in their order
  std::size_t hidden_columns = 0;    // behind them, which only the log shows
  std::vector<std::size_t> uuids{};  // of the identity: those that have 16 bytes for a key's text
  config::UuidOrder uuid_order = config::UuidOrder::plain;

  std::string select_sql() const;
  std::string count_sql() const;  // of its rows
  bool is_uuid(std::size_t column) const { return std::ranges::count(uuids, column) > 0; }
  bool operator==(const TablePlan&) const = default;

 private:
  std::string selected(std::size_t column) const;
};

// A sentence, or the server's failure.
using TableTrouble = std::variant<std::string, Error>;  // a sentence, or what the server said
template <class T>
using Planned = std::expected<T, TableTrouble>;

Planned<TablePlan> plan_table(Connection& connection,
                              const Target& target,
                              const std::string& table);

}  // namespace cuckooguard::source::mysql
