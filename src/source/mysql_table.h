// How one namespace's rows are read from one MariaDB or MySQL table, and the checks that this can be
// done rightly.
//
// What is refused, each with the fix: a table or column that is not there, a view, an engine without
// consistent reads, a table without a primary key; a column whose text in a snapshot and in the log
// cannot be made the same bytes (FLOAT, TIMESTAMP, ENUM, ZEROFILL ...); a column of which SQL finds a
// row by more than one spelling, unless the placeholder knows them: text with a `_ci` collation or one
// that pads with spaces needs |ci (nearly all pad; `_nopad_bin`, utf8mb4_0900_bin and binary do not),
// numbers need :uint64 or :int64, DECIMAL, DATE and UUID are not possible; foreign keys whose cascades
// change rows without a word in the log.
//
// Called by: the MySQL source before it starts, and again before every snapshot, since the schema may
// have changed. Threads: free functions. Errors: a sentence for the operator; MysqlError if the
// server itself failed. Source: information_schema of MariaDB 10.11 and MySQL 9.7; notes on change
// following, 3 and 10.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <variant>
#include <vector>

#include "source/mysql_connection.h"
#include "source/source.h"

namespace cuckooguard::source {

enum class MysqlType : std::uint8_t { integer, text, bytes, decimal, date, other };

struct MysqlColumn {
  std::string name;
  std::string data_type;    // lower case, as `bigint`
  std::string column_type;  // as `bigint(20) unsigned`
  std::string charset;      // empty: no text
  std::string collation;
  std::size_t ordinal = 0;  // place in the table, from 0: its place in the log
  std::uint32_t bytes = 0;  // of BINARY(n), whose zeros at the end the log leaves out
  bool nullable = true;
  bool is_auto_increment = false;
  std::size_t primary_key = 0;  // place in the primary key, from 1; 0: not part of it

  MysqlType type() const;
  bool is_unsigned() const;
  bool operator==(const MysqlColumn&) const = default;
};

struct MysqlTable {
  std::string schema;
  std::string name;
  std::vector<MysqlColumn> columns;      // all of them, in their order
  std::vector<std::size_t> identity;     // places in `columns`, in identity order
  std::vector<std::size_t> primary_key;  // in key order
  bool grows = false;                    // the identity is one AUTO_INCREMENT column
  bool identity_is_unique = false;       // a NOT NULL unique key: one row, one identity

  // Columns of a row as they are read: identity, then primary key; each once.
  std::vector<std::size_t> needed() const;
  std::string select_sql() const;
  bool operator==(const MysqlTable&) const = default;
};

// A sentence, or the server's failure.
using MysqlTrouble = std::variant<std::string, MysqlError>;

std::expected<MysqlTable, MysqlTrouble> plan_mysql_table(MysqlConnection& connection,
                                                         const Target& target,
                                                         const std::string& table);

}  // namespace cuckooguard::source
