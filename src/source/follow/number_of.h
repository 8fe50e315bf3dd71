// The number that a value of an answer begins with.
//
// Threads: any. Errors: 0, for NULL and what is no number, or too large.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cuckooguard::source {

template <typename Number = std::uint64_t>
Number number_of(std::optional<std::string_view> text) {
  Number number = 0;
  if (text) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  return number;
}

}  // namespace cuckooguard::source
