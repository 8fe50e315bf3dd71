#include "keyspace/canonical_integer.h"

#include <charconv>
#include <system_error>

namespace cuckooguard::keyspace {
namespace {

template <typename Integer>
std::optional<Integer> parse(std::string_view text) noexcept {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// "0" itself is canonical; "-0" and "05" are not.
bool has_leading_zero(std::string_view digits) noexcept {
  return digits.size() > 1 && digits[0] == '0';
}

}  // namespace

std::optional<std::uint64_t> canonical_uint64(std::string_view text) noexcept {
  return has_leading_zero(text) ? std::nullopt : parse<std::uint64_t>(text);
}

std::optional<std::int64_t> canonical_int64(std::string_view text) noexcept {
  if (text.starts_with("-0") || has_leading_zero(text)) {
    return std::nullopt;
  }
  return parse<std::int64_t>(text);
}

}  // namespace cuckooguard::keyspace
