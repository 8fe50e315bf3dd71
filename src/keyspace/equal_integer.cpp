#include "keyspace/equal_integer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace cuckooguard::keyspace {

EqualInteger equal_integer(std::string_view text) {
  constexpr double kExactBelow = 9007199254740992.0;  // 2^53
  constexpr double kIntegersBelow = 18446744073709551616.0;
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
  double number = 0;
  const bool begins = !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  if (begins && std::from_chars(text.data(), text.data() + text.size(), number).ec ==
                    std::errc::result_out_of_range) {
    return {.is_known = false};
  }
  if (number >= kExactBelow) {
    return {.is_known = number >= kIntegersBelow};
  }
  if (number != std::floor(number)) {
    return {};
  }
  const std::string digits = std::to_string(static_cast<std::uint64_t>(number));
  return {.text = is_negative && number > 0 ? "-" + digits : digits};
}

}  // namespace cuckooguard::keyspace
