// Which rows of a table a namespace is for: `deleted_at IS NULL AND status <> 'draft'`.
//
//   condition  = term { AND term }
//   term       = column IS [NOT] NULL | column = literal | column <> literal
//              | column IN ( literal {, literal} )
//   column     = name | `name` | "name"
//   literal    = integer | b'101' | TRUE | FALSE | 'text', where '' is one quote
//
// Keywords are in any case; a condition without terms holds for every row. The guard decides
// itself, for rows of a snapshot and of a change alike, so that both agree to the byte: a value is
// compared as the database prints it, byte by byte. The source must refuse a column that the
// database compares otherwise (a `_ci` collation, a DECIMAL with 1.0). As in SQL, NULL is neither
// equal nor unequal to anything.
//
// Threads: immutable. Errors: parse() gives words that go on from the text, with the place. Limits:
// kConditionBytesMax, kConditionTermsMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::keyspace {

inline constexpr std::size_t kConditionBytesMax = 4096;
inline constexpr std::size_t kConditionTermsMax = 64;

// What a condition asks of one of its columns, for a source to say whether its database would
// agree.
struct ColumnUse {
  bool asks_is_null = false;
  bool has_integers = false;  // among the literals, without quotes
  // Only by <>. What is left out is then equal byte for byte, and so to SQL, by whatever collation:
  // rows that SQL leaves out beyond that may count, which hides none.
  bool only_excludes = false;
  std::vector<std::string_view> literals;  // none: only whether it is NULL is asked

  bool compares() const { return !literals.empty(); }
};

class RowCondition {
 public:
  static std::expected<RowCondition, std::string> parse(std::string_view text);

  // Each column once, in the order in which the condition first names them.
  std::span<const std::string> columns() const { return columns_; }

  // Of columns()[column]. Lifetimes: views the condition.
  ColumnUse use_of(std::size_t column) const;

  // `values` in the order of columns(), nullopt for NULL. Of a column of which only NULL is asked
  // any text will do.
  bool holds(std::span<const std::optional<std::string_view>> values) const;
  // The same of a wider row, in which columns()[i] stands at places[i].
  bool holds(std::span<const std::optional<std::string_view>> row,
             std::span<const std::size_t> places) const;

  // As it was parsed, without what makes no difference: equal conditions have equal texts.
  std::string text() const;

  bool operator==(const RowCondition&) const = default;

 private:
  friend class ConditionParser;

  enum class Test : std::uint8_t { is_null, is_not_null, is_one_of, is_not };
  struct Term {
    std::size_t column = 0;
    Test test = Test::is_null;
    std::vector<std::string> literals{};
    bool has_integers = false;

    bool operator==(const Term&) const = default;
  };

  static bool holds(const Term& term, std::optional<std::string_view> value);

  std::vector<std::string> columns_;
  std::vector<Term> terms_;
};

}  // namespace cuckooguard::keyspace
