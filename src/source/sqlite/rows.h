// One row of a SQLite statement as the texts that a key is made of.
//
// INTEGER as decimal digits, TEXT and BLOB as their bytes, NULL as nullopt. A REAL has no canonical
// text, and a number where a text belongs has more than one: both are refused, in words that name
// the value. Of a row for which the condition does not hold nothing else is read.
//
// Lifetimes: the values view this object and the statement's current row. Limit: kPlaceholdersMax.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"
#include "source/feeds.h"
#include "source/uuid_bytes.h"
#include "sqlite/database.h"
#include "sqlite/table.h"

namespace cuckooguard::source::sqlite {

class Row {
 public:
  using Values = std::span<const std::optional<std::string_view>>;

  explicit Row(const TablePlan& plan)
      : plan_(plan),
        asked_(plan.condition_columns.size()),
        asked_digits_(plan.condition_columns.size()) {}

  // False: there is a value that cannot be used, and refusal() says which.
  bool read(const Statement& statement);
  // The condition holds for it: only then has it values.
  bool counts() const { return counts_; }
  Values values() const { return {values_.data(), plan_.columns.size()}; }
  const std::string& refusal() const { return refusal_; }

 private:
  static constexpr std::size_t kDigitsMax = 20;  // -9223372036854775808
  using Digits = std::array<char, kDigitsMax>;

  bool read_condition(const Statement& statement);
  bool read_value(const Statement& statement, std::size_t column);
  bool read_uuid(const Statement& statement, std::size_t column);
  static std::string_view printed(std::int64_t number, Digits& digits);
  bool refuse(std::string_view what,
              const Statement& statement,
              std::size_t column,
              const std::string& name);

  const TablePlan& plan_;
  std::array<std::optional<std::string_view>, keyspace::kPlaceholdersMax> values_;
  std::array<Digits, keyspace::kPlaceholdersMax> digits_{};
  std::array<std::array<char, kUuidTextBytes>, keyspace::kPlaceholdersMax> uuid_texts_{};
  std::vector<std::optional<std::string_view>> asked_;  // by the condition
  std::vector<Digits> asked_digits_;
  bool counts_ = false;
  std::string refusal_;
};

// Reads the tables of one open read transaction into feeds.
//
// Threads: the source's. Lifetimes: of one transaction.
// Errors: what is wrong with a table or a row is told to its feed (unsynced); what is wrong with
// the database, and a stop, is returned.
class SnapshotReader {
 public:
  static constexpr std::uint64_t kRowsPerCheck = 1024;

  // `at_check` is for tests: called every kRowsPerCheck rows.
  SnapshotReader(const Database& database,
                 const std::stop_token& stop,
                 std::function<void()> at_check);

  // `deletes`: what the filter will be told of afterwards.
  Done read(Feed& feed, filter::DeleteMode deletes = filter::DeleteMode::deferred);

 private:
  enum class Reading : std::uint8_t { finished, too_small };

  Expected<Reading> read_table(Feed& feed, const TablePlan& plan, filter::DeleteMode deletes);
  Expected<Reading> read_rows(Feed& feed, const TablePlan& plan, Statement& statement);

  const Database& database_;
  const std::stop_token& stop_;
  std::function<void()> at_check_;
};

}  // namespace cuckooguard::source::sqlite
