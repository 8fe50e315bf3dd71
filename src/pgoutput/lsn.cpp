#include "pgoutput/lsn.h"

#include <array>
#include <charconv>
#include <cstddef>

#include "text/number.h"

namespace cuckooguard::pgoutput {

namespace {

constexpr int kHexadecimal = 16;
constexpr unsigned kHalfBits = 32;

std::optional<std::uint32_t> parse_half(std::string_view text) {
  constexpr std::size_t kDigitsMax = 8;
  return text.size() > kDigitsMax ? std::nullopt
                                  : text::number_of<std::uint32_t>(text, kHexadecimal);
}

}  // namespace

std::string Lsn::text() const {
  std::array<char, 17> digits;
  char* const end = digits.data() + digits.size();
  char* at =
      std::to_chars(digits.data(), end, static_cast<std::uint32_t>(value >> kHalfBits), 16).ptr;
  *at++ = '/';
  at = std::to_chars(at, end, static_cast<std::uint32_t>(value), kHexadecimal).ptr;
  std::string text(digits.data(), at);
  for (char& digit : text) {
    digit = digit >= 'a' ? static_cast<char>(digit - 'a' + 'A') : digit;
  }
  return text;
}

std::optional<Lsn> parse_lsn(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<std::uint32_t> high = parse_half(text.substr(0, slash));
  const std::optional<std::uint32_t> low = parse_half(text.substr(slash + 1));
  if (!high || !low) {
    return std::nullopt;
  }
  return Lsn{std::uint64_t{*high} << kHalfBits | *low};
}

}  // namespace cuckooguard::pgoutput
