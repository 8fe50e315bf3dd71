#include "keyspace/row_condition.h"

#include <algorithm>
#include <functional>

#include "keyspace/canonical_text.h"
#include "keyspace/identity.h"
#include "text/ascii.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::keyspace {
namespace {

bool is_name_byte(char byte) {
  return text::is_alphanumeric(byte) || byte == '_' || byte == '$';
}

using text::quoted;

constexpr int kBinary = 2;

}  // namespace

// Recursive descent without recursion: conditions do not nest.
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text) {}

  std::expected<RowCondition, std::string> parse() {
    if (text_.size() > kConditionBytesMax) {
      return std::unexpected("is longer than " + std::to_string(kConditionBytesMax) + " bytes");
    }
    do {
      if (!read_term()) {
        return std::unexpected("needs " + wanted_ + " at character " + std::to_string(at_ + 1));
      }
    } while (condition_.terms_.size() < kConditionTermsMax && read_word("and"));
    skip_space();
    if (at_ < text_.size()) {
      return std::unexpected("needs AND or the end of the condition at character " +
                             std::to_string(at_ + 1) +
                             "; supported terms are column IS [NOT] NULL, =, <> and IN, at most " +
                             std::to_string(kConditionTermsMax) + " of them");
    }
    return std::move(condition_);
  }

 private:
  using Test = RowCondition::Test;

  bool read_term() {
    std::string column;
    if (!read_column(column)) {
      return false;
    }
    RowCondition::Term term{.column = number_of(std::move(column))};
    if (read_word("is")) {
      term.test = read_word("not") ? Test::is_not_null : Test::is_null;
      wanted_ = "NULL";
      if (!read_word("null")) {
        return false;
      }
    } else if (read_word("in")) {
      term.test = Test::is_one_of;
      if (!read_list(term)) {
        return false;
      }
    } else {
      const bool is_not = read_mark("<>");
      wanted_ = "IS, IN, = or <>";
      if (!is_not && !read_mark("=")) {
        return false;
      }
      term.test = is_not ? Test::is_not : Test::is_one_of;
      if (!read_literal(term)) {
        return false;
      }
    }
    condition_.terms_.push_back(std::move(term));
    return true;
  }

  std::size_t number_of(std::string column) {
    auto& columns = condition_.columns_;
    const auto found = std::ranges::find(columns, column);
    const auto number = static_cast<std::size_t>(found - columns.begin());
    if (found == columns.end()) {
      columns.push_back(std::move(column));
    }
    return number;
  }

  bool read_column(std::string& column) {
    wanted_ = "a column's name";
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '`' || text_[at_] == '"')) {
      return read_quoted(text_[at_], column) && !column.empty();
    }
    column = read_name();
    return !column.empty() && !text::is_digit(column[0]);
  }

  bool read_list(RowCondition::Term& term) {
    wanted_ = "( after IN";
    if (!read_mark("(")) {
      return false;
    }
    do {
      if (!read_literal(term)) {
        return false;
      }
    } while (read_mark(","));
    std::vector<std::string>& literals = term.literals;
    std::ranges::sort(literals);
    const auto repeated = std::ranges::unique(literals);
    literals.erase(repeated.begin(), repeated.end());
    wanted_ = ", or )";
    return read_mark(")");
  }

  bool read_literal(RowCondition::Term& term) {
    std::string& literal = term.literals.emplace_back();
    wanted_ = "an integer as the database prints it, or 'text',";
    skip_space();
    if (at_ < text_.size() && text_[at_] == '\'') {
      return read_quoted('\'', literal);
    }
    const std::size_t begin = at_;
    term.has_integers = true;
    if (text_.substr(at_).starts_with("b'") || text_.substr(at_).starts_with("B'")) {
      ++at_;
      std::string digits;
      const std::optional<std::uint64_t> bits =
          read_quoted('\'', digits) ? text::number_of<std::uint64_t>(digits, kBinary)
                                    : std::nullopt;
      literal = bits ? std::to_string(*bits) : "";
      at_ = bits ? at_ : begin;
      return bits.has_value();
    }
    if (read_word("true") || read_word("false")) {
      literal = text::equals_in_any_case(text_.substr(begin, 1), "t") ? "1" : "0";
      return true;
    }
    if (text_.substr(at_).starts_with('-')) {
      literal = '-';
      ++at_;
    }
    literal += read_name();
    if (canonical_int64(literal) || canonical_uint64(literal)) {
      return true;
    }
    at_ = begin;
    return false;
  }

  // The quote that opens is at the place; twice the quote is one of it.
  bool read_quoted(char quote, std::string& text) {
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] != quote) {
        text += text_[i];
      } else if (i + 1 < text_.size() && text_[i + 1] == quote) {
        text += quote;
        ++i;
      } else {
        at_ = i + 1;
        return true;
      }
    }
    return false;
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_byte(text_[at_])) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool read_word(std::string_view word) {
    skip_space();
    const std::size_t begin = at_;
    if (text::equals_in_any_case(read_name(), word)) {
      return true;
    }
    at_ = begin;
    return false;
  }

  bool read_mark(std::string_view mark) {
    skip_space();
    if (!text_.substr(at_).starts_with(mark)) {
      return false;
    }
    at_ += mark.size();
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string wanted_;  // at the place, had there been one
  RowCondition condition_;
};

std::expected<RowCondition, std::string> RowCondition::parse(std::string_view text) {
  return ConditionParser(text).parse();
}

bool RowCondition::holds(std::span<const std::optional<std::string_view>> values) const {
  return std::ranges::all_of(
      terms_, [values](const Term& term) { return holds(term, values[term.column]); });
}

bool RowCondition::holds(std::span<const std::optional<std::string_view>> row,
                         std::span<const std::size_t> places) const {
  return std::ranges::all_of(
      terms_, [&](const Term& term) { return holds(term, row[places[term.column]]); });
}

ColumnUse RowCondition::use_of(std::size_t column) const {
  ColumnUse use{.only_excludes = true};
  for (const Term& term : terms_) {
    if (term.column == column) {
      use.only_excludes = use.only_excludes && term.test != Test::is_one_of;
      use.asks_is_null = use.asks_is_null || term.test == Test::is_null;
      use.has_integers = use.has_integers || term.has_integers;
      use.literals.insert(use.literals.end(), term.literals.begin(), term.literals.end());
    }
  }
  return use;
}

bool RowCondition::holds(const Term& term, std::optional<std::string_view> value) {
  switch (term.test) {
    case Test::is_null:
      return !value;
    case Test::is_not_null:
      return value.has_value();
    case Test::is_one_of:
      return value && std::ranges::binary_search(term.literals, *value, std::less<>{});
    case Test::is_not:
      return value && *value != term.literals.front();
  }
  return false;
}

std::string RowCondition::text() const {
  std::string all;
  for (const Term& term : terms_) {
    // Of which room is said: GCC 14 finds std::quoted, too.
    all += (all.empty() ? "" : " AND ") + text::quoted(columns_[term.column], '`');
    if (term.test == Test::is_null || term.test == Test::is_not_null) {
      all += term.test == Test::is_null ? " IS NULL" : " IS NOT NULL";
      continue;
    }
    const auto in_quotes = [](std::string_view literal) { return quoted(literal, '\''); };
    all += term.test == Test::is_not ? " <> (" : " IN (";
    all += text::joined(term.literals, ", ", in_quotes) + ")";
  }
  return all;
}

}  // namespace cuckooguard::keyspace
