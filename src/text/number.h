// Numbers in text, as std::from_chars reads them: no blanks, no '+', and nothing of a locale.
//
// Threads: any. Errors: nothing, if there is no number, or it does not fit into `Number`.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace cuckooguard::text {

// The number at the beginning of `text`, which is taken off if there is one.
template <typename Number>
std::optional<Number> take_number(std::string_view& text, [[maybe_unused]] int base = 10) {
  Number number{};
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>) {
    read = std::from_chars(text.data(), text.data() + text.size(), number);
  } else {
    read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  }
  if (read.ec != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

// The number that the whole text is.
template <typename Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  const auto number = take_number<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

// The number that `text` begins with, as a value of a database's answer may be NULL or no number.
template <typename Number = std::uint64_t>
Number leading_number(std::optional<std::string_view> text, Number otherwise = 0) {
  return text ? take_number<Number>(*text).value_or(otherwise) : otherwise;
}

}  // namespace cuckooguard::text
