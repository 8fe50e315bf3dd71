#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "sqlite/trigger_log.h"
#include "text/ascii.h"
#include "text/words.h"

namespace cuckooguard::source::sqlite {
namespace {

constexpr std::string_view kBlanks = " \t\n\f\r";

std::string_view trimmed(std::string_view text) {
  return text::trimmed(text, kBlanks);
}

using text::equals_in_any_case;

// SQLite takes a text for a column's name where a column alone can stand.
bool is_text_for_a_name(std::string_view part) {
  if (!part.starts_with('\'')) {
    return false;
  }
  const std::size_t end = part.find('\'', 1);
  const std::string_view behind =
      trimmed(part.substr(std::min(end == std::string_view::npos ? end : end + 1, part.size())));
  return behind.empty() ||
         equals_in_any_case(behind.substr(0, std::string_view("COLLATE").size()), "COLLATE");
}

// One character, quoted text or comment after the other.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  // Empty: the end. A comment is a blank.
  std::string_view next() {
    const std::size_t bytes = size();
    const std::string_view token = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return token.starts_with("--") || token.starts_with("/*") ? " " : token;
  }

 private:
  std::size_t behind(std::string_view ending, std::size_t from) const {
    const std::size_t found = rest_.find(ending, from);
    return found == std::string_view::npos ? rest_.size() : found + ending.size();
  }
  // Of the token. Quotes that are doubled are two texts without anything between them.
  std::size_t size() const {
    if (rest_.empty()) {
      return 0;
    }
    if (rest_.starts_with("--")) {
      return behind("\n", 2);
    }
    if (rest_.starts_with("/*")) {
      return behind("*/", 2);
    }
    switch (const char first = rest_.front()) {
      case '\'':
      case '"':
      case '`':
        return behind({&first, 1}, 1);
      case '[':
        return behind("]", 1);
      default:
        return 1;
    }
  }

  std::string_view rest_;
};

bool is_in_word(char byte) {
  return text::is_alphanumeric(byte) || byte == '_' || byte == '$' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const char first = text.front();
    std::size_t bytes = 1;
    if (first == '\'' || first == '"' || first == '`' || first == '[') {
      std::string word = text::unquoted(text);
      const char quote = first == '[' ? ']' : first;
      bytes = word.size() + static_cast<std::size_t>(std::ranges::count(word, quote)) + 2;
      words.push_back(std::move(word));
    } else if (is_in_word(first)) {
      bytes = static_cast<std::size_t>(std::ranges::find_if_not(text, is_in_word) - text.begin());
      words.emplace_back(text.substr(0, bytes));
    }
    text.remove_prefix(std::min(bytes, text.size()));
  }
  return words;
}

// Without the order in which the index has it.
std::string part_of(std::string_view text) {
  text = trimmed(text);
  const std::size_t before = text.find_last_of(" \t\n\f\r)]\"`'");
  const std::string_view last = text.substr(before == std::string_view::npos ? 0 : before + 1);
  if (before != std::string_view::npos &&
      (equals_in_any_case(last, "ASC") || equals_in_any_case(last, "DESC"))) {
    text = trimmed(text.substr(0, before + 1));
  }
  return std::string(text);
}

// Up to the closing bracket. False: there is none.
bool take_parts(Tokens& tokens, std::vector<std::string>& parts) {
  std::string text;
  for (int depth = 1; depth > 0;) {
    const std::string_view token = tokens.next();
    if (token.empty()) {
      return false;
    }
    depth += token == "(" ? 1 : token == ")" ? -1 : 0;
    if (depth == 0 || (depth == 1 && token == ",")) {
      parts.push_back(part_of(std::exchange(text, {})));
    } else {
      text += token;
    }
  }
  return true;
}

}  // namespace

std::optional<IndexText> read_index_text(std::string_view create_index) {
  Tokens tokens(create_index);
  std::string_view token = tokens.next();
  while (!token.empty() && token != "(") {
    token = tokens.next();
  }
  IndexText result;
  if (!token.empty() && !take_parts(tokens, result.parts)) {
    return std::nullopt;
  }
  std::string text;
  for (token = tokens.next(); !token.empty(); token = tokens.next()) {
    text += token;
  }
  const std::string_view rest = trimmed(text);
  constexpr std::string_view kWhere = "WHERE";
  if (equals_in_any_case(rest.substr(0, kWhere.size()), kWhere)) {
    result.condition = trimmed(rest.substr(kWhere.size()));
  }
  for (const std::string& part : result.parts) {
    std::ranges::move(words_of(part), std::back_inserter(result.words));
  }
  std::ranges::move(words_of(result.condition), std::back_inserter(result.words));
  const bool is_whole = rest.empty() || !result.condition.empty();
  const bool has_parts =
      !result.parts.empty() && std::ranges::none_of(result.parts, [](const std::string& part) {
        return part.empty() || is_text_for_a_name(part);
      });
  return is_whole && has_parts ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace cuckooguard::source::sqlite
