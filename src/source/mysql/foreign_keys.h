// Foreign keys by which rows of a table change, or go, with rows of another one: MariaDB, and MySQL
// before 9.6, do that inside the engine and log the other table's rows alone.
//
// information_schema.referential_constraints shows MariaDB's users nothing of tables that they may
// only SELECT from; SHOW CREATE TABLE shows them all of it. Only what the table itself refers to
// counts: rows that refer to it change, not its own.
//
// Threads: free functions. Errors: a sentence for the operator; Error if the server itself
// failed.
// Source: SHOW CREATE TABLE of MariaDB 10.11 and MySQL 9.7, under the settings of mysql/session.h.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mysql/table.h"

namespace cuckooguard::source::mysql {

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

}  // namespace cuckooguard::source::mysql
