// A column of a SQLite table, and what it cannot be used for.
//
// Refused, each with the fix: a column of REAL affinity (its text is not canonical); a text
// placeholder on a column that compares by other rules than bytes (NOCASE or RTRIM without |ci, any
// other collation, INTEGER affinity: `id = '007'` finds row 7). In a condition: whatever SQLite
// could compare with a literal otherwise than by bytes.
//
// Threads: free functions. Errors: a sentence for the operator.
// Source: sqlite.org/datatype3.html 3.1 (affinity), 4.2 (comparisons).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/key_template.h"
#include "keyspace/row_condition.h"

namespace cuckooguard::source::sqlite {

enum class Affinity : std::uint8_t { integer, text, blob, real, numeric };

// `strict`: of a STRICT table.
Affinity affinity_of(std::string_view declared_type, bool strict);

struct Column {
  std::string table;
  std::string name;
  std::string declared_type;
  std::string collation;  // in capitals
  int primary_key = 0;    // place in the primary key, from 1; 0: not part of it
  Affinity affinity = Affinity::blob;

  bool has_bytes() const;  // declared as BLOB or BINARY, whatever its affinity
};

// Why look-ups by this placeholder could find rows in the database that the filter has under other
// bytes.
std::optional<std::string> ambiguous(const Column& column,
                                     const keyspace::Placeholder& placeholder);

// Why the guard and SQL could disagree on what a condition asks of it.
std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use);

// Of ASCII letters, as SQL finds names.
std::string upper_case(std::string_view text);

}  // namespace cuckooguard::source::sqlite
