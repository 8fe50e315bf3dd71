#include "config/table_pattern.h"

#include <algorithm>
#include <cstddef>

#include "text/ascii.h"

namespace cuckooguard::config {

bool is_table_pattern(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos;
}

// Where the name and the part of the pattern behind the last `*` part, the `*` takes one byte more;
// an earlier one need never take more, since what is between was found as early as possible.
bool matches_table(std::string_view pattern, std::string_view name, NameCase names) {
  const auto equal = [names](char wanted, char given) {
    return wanted == '?' || wanted == given ||
           (names == NameCase::ignored && text::to_lower(wanted) == text::to_lower(given));
  };
  std::size_t at = 0;  // in the pattern
  std::size_t behind_star = std::string_view::npos;
  std::size_t star_ends = 0;  // in the name
  for (std::size_t i = 0; i < name.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      behind_star = ++at;
      star_ends = i;
    } else if (at < pattern.size() && equal(pattern[at], name[i])) {
      ++at;
      ++i;
    } else if (behind_star != std::string_view::npos) {
      at = behind_star;
      i = ++star_ends;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool matches_any_table(std::span<const std::string> patterns,
                       std::string_view name,
                       NameCase names) {
  return std::ranges::any_of(patterns, [name, names](std::string_view pattern) {
    return matches_table(pattern, name, names);
  });
}

void add_missing_names(std::span<const std::string> wanted,
                       NameCase names,
                       std::vector<std::string>& tables) {
  for (const std::string& name : wanted) {
    const bool is_there = std::ranges::any_of(
        tables, [&](const std::string& table) { return matches_table(name, table, names); });
    if (!is_there && !is_table_pattern(name)) {
      tables.push_back(name);
    }
  }
}

}  // namespace cuckooguard::config
