// What a trigger log is in a database's schema: objects with their exact text, found, missed, and
// made.
//
// An object that is there with another text is as good as missing: it is of another configuration
// or another release.
//
// Threads: the caller's. Errors: SqliteError.
// Source: sqlite.org/schematab.html (how sqlite_schema keeps a statement's text).
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/database.h"

namespace cuckooguard::source {

inline constexpr std::string_view kLogName = "cuckooguard_log";
inline constexpr int kLogRowsMax = 100'000;
inline constexpr std::size_t kLogValuesMax = 16;

// The log's column for the n-th value, from 0.
std::string log_place(std::size_t n);

struct LogObject {  // of the database's schema
  bool is_table = false;
  std::string name;
  std::string sql;  // as sqlite_schema has it, if it is the one
};

// What all tables share: the log and what keeps it short. First the table.
std::vector<LogObject> log_objects();

// Those of `wanted` that are not in the schema, or are there with another text.
std::expected<std::vector<LogObject>, SqliteError> missing_objects(
    const SqliteDatabase& database, const std::vector<LogObject>& wanted);

// Statements that make them, and first remove what stands there under their names.
std::string creation_sql(const std::vector<LogObject>& objects);

}  // namespace cuckooguard::source
