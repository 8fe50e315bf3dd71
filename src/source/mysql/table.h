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

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "follow/log.h"
#include "follow/row_plan.h"
#include "mysql/column.h"
#include "mysql/connection.h"
#include "mysql/table.h"
#include "source/source.h"
#include "source/source_kind.h"

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

// Foreign keys by which rows of a table change, or go, with rows of another one: MariaDB, and MySQL
// before 9.6, do that inside the engine and log the other table's rows alone.
//
// information_schema.referential_constraints shows MariaDB's users nothing of tables that they may
// only SELECT from; SHOW CREATE TABLE shows them all of it. Only what the table itself refers to
// counts: rows that refer to it change, not its own.
// Source: SHOW CREATE TABLE of MariaDB 10.11 and MySQL 9.7, under a session's settings
// (connection.cpp).
struct ForeignKey {
  enum class Action : std::uint8_t { none, change, erase };  // of rows of the table that has it

  std::string name;
  std::vector<std::string> columns;
  Action on_delete = Action::none;
  Action on_update = Action::none;
  bool operator==(const ForeignKey&) const = default;
};

std::expected<std::vector<ForeignKey>, std::string> foreign_keys_of(std::string_view create_table);

// Of a table that is there. A right to some of its columns shows these alone, and no keys: that is
// refused here, since who is shown the definition is shown all.
Planned<std::vector<ForeignKey>> ask_foreign_keys(Connection& connection, const TablePlan& table);

// The table cannot be followed if rows go, or what is read of them changes.
std::expected<void, std::string> rows_change_unlogged(const TablePlan& table,
                                                      std::span<const ForeignKey> keys);

// Which tables of a MariaDB or MySQL database a namespace has, by its list of names and patterns.
//
// Patterns find views too: that those cannot be read is plan_table()'s to say, since to leave
// them out would hide their rows. A server shows an account the tables alone that it has a right
// to; so patterns need a right to all: rows of a table that is not shown would be hidden. Names
// need no more than before.
//
// What it gives is as the database was at some moment between question and answer, after any
// definition that was in the log before. A follower must take the set of tables for unknown
// (LiveParts::set_complete) from a definition in its log until it has asked again, and nothing of
// the kind has come meanwhile.
//
// Source: information_schema of MariaDB 10.11.

// As the server spells them; a name for which there is no table as it is. Case counts if it does on
// the server (lower_case_table_names).
Planned<std::vector<std::string>> find_tables(Connection& connection,
                                              std::span<const std::string> wanted);

// All that this account may see.
Expected<std::vector<KeyedTable>> list_keyed_tables(Connection& connection);

// As the server says, of a table of the connection's database.
Expected<TableEstimate> size_of_table(Connection& connection, const TablePlan& plan);

}  // namespace cuckooguard::source::mysql
