// One row of a SQLite statement as the texts that a key is made of.
//
// INTEGER as decimal digits, TEXT and BLOB as their bytes, NULL as nullopt. A REAL has no canonical text, and a number
// where a text belongs has more than one: both are refused, in words that name the value.
//
// Called by: SqliteOrigin. Lifetimes: the values view this object and the statement's current row. Limit: kPlaceholdersMax.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keyspace/key_template.h"
#include "source/sqlite_database.h"
#include "source/sqlite_table.h"

namespace cuckooguard::source {

class SqliteRow {
 public:
  using Values = std::span<const std::optional<std::string_view>>;

  explicit SqliteRow(const TablePlan& plan) : plan_(plan) {}

  // False: there is a value that cannot be used, and refusal() says which.
  bool read(const SqliteStatement& statement);
  Values values() const { return {values_.data(), plan_.columns.size()}; }
  const std::string& refusal() const { return refusal_; }

 private:
  static constexpr std::size_t kDigitsMax = 20;  // -9223372036854775808

  bool read_value(const SqliteStatement& statement, std::size_t column);
  bool refuse(std::string_view what, const SqliteStatement& statement, std::size_t column);

  const TablePlan& plan_;
  std::array<std::optional<std::string_view>, keyspace::kPlaceholdersMax> values_;
  std::array<std::array<char, kDigitsMax>, keyspace::kPlaceholdersMax> digits_{};
  std::string refusal_;
};

}  // namespace cuckooguard::source
