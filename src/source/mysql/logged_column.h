// Whether a column as the log describes it can be the one that information_schema had when the
// table was planned.
//
// A definition can change without a word in the log (SET sql_log_bin = 0, a table file that was
// swapped): rows that were read by the old plan would give the values of other columns. What the
// log always says is a type with its metadata, and whether a column can be NULL; by its settings
// also signedness, collation and name.
//
// Of a column that is read every difference counts. Of others, which only say that columns have
// moved, types of another kind do: a table must not be read again for ever because of a difference
// that makes none.
//
// Limit: columns that the log describes alike are not told apart, unless by name
// (binlog_row_metadata = FULL).
//
// Threads: pure functions. Errors: a data type that is not known here is taken as it comes.
// Source: table maps as recorded from MariaDB 10.11 and 11.8 and MySQL 9.7 (tests/binlog/recorded).
#pragma once

#include <optional>
#include <string>

#include "binlog/table_layout.h"
#include "mysql/column.h"

namespace cuckooguard::source {

// Why not: "column `id` is int(11) in the schema and VARCHAR in the log".
std::optional<std::string> why_not_the_same(const MysqlColumn& planned,
                                            const binlog::Column& logged,
                                            bool is_read);

}  // namespace cuckooguard::source
