#include <algorithm>
#include <limits>
#include <optional>

#include "resp/request_scanner.h"

namespace cuckooguard::resp {
namespace {

// The longest text string2ll reads: it wants fewer than LONG_STR_SIZE (21) characters.
constexpr std::size_t kNumberCharactersMax = 20;

// A number as string2ll takes it: canonical, no sign but '-', no leading zero, within 64 bits.
std::optional<std::int64_t> parse_number(std::string_view text) {
  if (text.empty() || text.size() > kNumberCharactersMax) {
    return std::nullopt;
  }
  if (text == "0") {
    return 0;
  }
  const bool negative = text.front() == '-';
  text.remove_prefix(negative ? 1 : 0);
  if (text.empty() || text.front() == '0') {
    return std::nullopt;
  }
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t most = negative ? kMax + 1 : kMax;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (most - digit) / 10) {
      return std::nullopt;
    }
    value = value * 10 + digit;
  }
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

}  // namespace

std::size_t find_line_end(std::string_view input, char end, std::size_t& searched) {
  const std::size_t window = std::min(input.size(), kLineBytesMax + 1);
  if (searched >= window || input[searched] == '\0') {
    return std::string_view::npos;
  }
  const std::string_view unseen = input.substr(searched, window - searched);
  const std::size_t found = unseen.find(end);
  const std::size_t nul = unseen.substr(0, found).find('\0');
  if (nul != std::string_view::npos) {
    searched += nul;
    return std::string_view::npos;
  }
  if (found == std::string_view::npos) {
    searched = window;
    return std::string_view::npos;
  }
  return searched + found;
}

RequestLine read_request_line(std::string_view input,
                              const LineRules& rules,
                              bool authenticated,
                              std::size_t& searched) {
  const std::size_t end = find_line_end(input, '\r', searched);
  if (end == std::string_view::npos) {
    return input.size() > kLineBytesMax
               ? RequestLine{.outcome = LineOutcome::refused, .error = rules.too_long}
               : RequestLine{};
  }
  if (input.size() < end + kLineEndBytes) {
    return {};
  }
  if (input.front() != rules.type) {
    return {.outcome = LineOutcome::wrong_type};
  }
  const std::optional<std::int64_t> number = parse_number(input.substr(1, end - 1));
  if (!number || *number < rules.min || *number > rules.max) {
    return {.outcome = LineOutcome::refused, .error = rules.invalid};
  }
  if (!authenticated && *number > rules.unauthenticated_max) {
    return {.outcome = LineOutcome::refused, .error = rules.unauthenticated};
  }
  return {.outcome = LineOutcome::complete, .number = *number, .bytes = end + kLineEndBytes};
}

}  // namespace cuckooguard::resp
