// A column of a MariaDB or MySQL table as information_schema has it, and what it cannot be used
// for.
//
// Refused, each with the fix: a column whose text in a snapshot and in the log cannot be made the
// same bytes (FLOAT, TIMESTAMP, ENUM, ZEROFILL ...); a column of which SQL finds a row by more than
// one spelling, unless the placeholder knows them: text with a `_ci` collation or one that pads
// with spaces needs |ci (nearly all pad; `_nopad_bin`, utf8mb4_0900_bin and binary do not), or
// :uuid if it has UUIDs, numbers need :uint64 or :int64, DATE needs :date; collations that take one
// ASCII letter for another, DECIMAL (which SQL compares with a text as floating point) and UUID are
// not possible. In a condition: whatever SQL could compare with a literal otherwise than by bytes,
// or, integers and BIT, as a number.
//
// Threads: free functions. Errors: a sentence for the operator.
// Source: information_schema of MariaDB 10.11 and MySQL 9.7; notes on change following, 10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/key_template.h"
#include "keyspace/row_condition.h"

namespace cuckooguard::source::mysql {

enum class ColumnKind : std::uint8_t { integer, text, bytes, decimal, date, other };

struct Column {
  std::string name;
  std::string data_type;    // lower case, as `bigint`
  std::string column_type;  // as `bigint(20) unsigned`
  std::string charset;      // empty: no text
  std::string collation;
  std::size_t ordinal = 0;  // place in the table, from 0: its place in the log
  std::uint32_t bytes = 0;  // of a text, at most; 0: none, or not known
  bool nullable = true;
  bool is_auto_increment = false;
  bool is_generated = false;    // from others
  std::size_t primary_key = 0;  // place in the primary key, from 1; 0: not part of it

  ColumnKind type() const;
  bool is_unsigned() const;
  bool operator==(const Column&) const = default;
};

// Of two texts of printable ASCII it finds equal what differs in case or in blanks at the end, at
// most: what |ci folds. Latin takes i for j and u for v, Lithuanian and MySQL's Latvian i for y,
// Hungarian ccs for cscs.
bool folds_no_more_than_case(std::string_view collation);

// What tells rows apart by a column of their primary key, if its value is for nothing else.
enum class KeyText : std::uint8_t {
  plain,   // SELECT and the log give the same text
  number,  // they do if SELECT asks for it AS UNSIGNED
  none,    // they do not: it is the log alone that tells
};
KeyText key_text(const Column& column);

// Why its text in a snapshot and in the log would not be the same.
std::optional<std::string> unreadable(const Column& column);

// Why SQL could find a row by a value that the filter has under other bytes.
std::optional<std::string> ambiguous(const Column& column,
                                     const keyspace::Placeholder& placeholder);

// Why the guard and SQL could disagree on what a condition asks of it.
std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use);

}  // namespace cuckooguard::source::mysql
