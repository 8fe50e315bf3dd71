// The valid name an operator most likely meant, for "did you mean".
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::config {

// The name with the fewest edits (one character more, less, other, or two swapped), if they are few
// for its length.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> names);

// `, did you mean "x"?`, or else `; valid: a, b, c` (cut after a few).
std::string suggestion(std::string_view word, std::span<const std::string_view> names);
// Of things whose names `name_of` gives.
template <class Things, class NameOf>
std::string suggestion(std::string_view word, const Things& things, NameOf name_of) {
  std::vector<std::string_view> names;
  std::ranges::transform(things, std::back_inserter(names), name_of);
  return suggestion(word, names);
}

}  // namespace cuckooguard::config
