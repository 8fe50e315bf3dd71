#include "keyspace/canonical_text.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "keyspace/canonical_integer.h"

namespace cuckooguard::keyspace {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// An `x` of the form stands for one of these, any other byte for itself.
bool has_form(std::string_view text, std::string_view form, bool (*is_one)(char)) {
  return std::ranges::equal(
      text, form, [is_one](char c, char place) { return place == 'x' ? is_one(c) : c == place; });
}

bool is_date(std::string_view text) {
  if (!has_form(text, "xxxx-xx-xx", is_digit)) {
    return false;
  }
  const auto number = [text](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) {
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const std::chrono::year year(number(0, 4));
  const std::chrono::month month(static_cast<unsigned>(number(5, 2)));
  const std::chrono::day day(static_cast<unsigned>(number(8, 2)));
  return year > std::chrono::year(0) && (year / month / day).ok();
}

bool is_numeric(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative ? 1 : 0);
  const std::string_view whole = text.substr(0, text.find('.'));
  const std::string_view fraction = text.substr(std::min(text.size(), whole.size() + 1));
  const bool is_whole_canonical = !whole.empty() && (whole[0] != '0' || whole.size() == 1) &&
                                  std::ranges::all_of(whole, is_digit);
  if (whole.size() == text.size()) {
    return is_whole_canonical && !(is_negative && whole == "0");
  }
  return is_whole_canonical && !fraction.empty() && fraction.back() != '0' &&
         std::ranges::all_of(fraction, is_digit);
}

bool is_bytea(std::string_view text) {
  return text.starts_with("\\x") && text.size() % 2 == 0 &&
         std::ranges::all_of(text.substr(2), is_hexadecimal);
}

}  // namespace

bool is_canonical(ValueType type, std::string_view text) noexcept {
  switch (type) {
    case ValueType::text:
    case ValueType::text_ci:
      return true;
    case ValueType::uint64:
      return canonical_uint64(text).has_value();
    case ValueType::int64:
      return canonical_int64(text).has_value();
    case ValueType::uuid:
      return has_form(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", is_hexadecimal);
    case ValueType::numeric:
      return is_numeric(text);
    case ValueType::date:
      return is_date(text);
    case ValueType::bytea:
      return is_bytea(text);
  }
  std::unreachable();
}

std::string_view without_scale(std::string_view numeric) noexcept {
  if (numeric.find('.') == std::string_view::npos) {
    return numeric;
  }
  const std::string_view text = numeric.substr(0, numeric.find_last_not_of('0') + 1);
  return text.substr(0, text.size() - (text.ends_with('.') ? 1 : 0));
}

}  // namespace cuckooguard::keyspace
