// Words of a text: between separators, apart and joined, without blanks around them, in quotes.
//
// Threads: pure functions. Lifetimes: views are into the text given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace cuckooguard::text {

// What is before the first separator, or all; it is taken off `text`, and the separator, too.
constexpr std::string_view take_word(std::string_view& text, char separator = ' ') {
  const std::string_view word = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

constexpr std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// What `text_of` makes of each, with the separator between them.
template <class Things, class TextOf = std::identity>
std::string joined(const Things& things, std::string_view separator, const TextOf& text_of = {}) {
  std::string all;
  for (const auto& each : things) {
    all.append(all.empty() ? std::string_view() : separator).append(std::invoke(text_of, each));
  }
  return all;
}

// In quotes, those within it doubled, as SQL has names and texts.
inline std::string quoted(std::string_view text, char quote) {
  std::string all(1, quote);
  for (const char c : text) {
    all.append(c == quote ? 2 : 1, c);
  }
  return all + quote;
}
// What is in the quotes that `text` begins with; `[` ends with `]`. What comes behind does not
// count.
inline std::string unquoted(std::string_view text) {
  const char quote = text.front() == '[' ? ']' : text.front();
  std::string result;
  for (std::size_t i = 1;
       i < text.size() && (text[i] != quote || text.substr(i + 1).starts_with(quote));
       ++i) {
    result += text[i];
    i += text[i] == quote ? 1 : 0;
  }
  return result;
}

}  // namespace cuckooguard::text
