#include "text/hex.h"

#include <cstddef>

#include "text/number.h"

namespace cuckooguard::text {

void append_hex(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 15U];
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    append_hex(hex, static_cast<unsigned char>(byte));
  }
  return hex;
}

std::optional<std::string> bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    const std::string_view digits = hex.substr(at, 2);
    const auto value = number_of<unsigned char>(digits, 16);
    if (!value || digits.size() != 2) {
      return std::nullopt;
    }
    bytes += static_cast<char>(*value);
  }
  return bytes;
}

}  // namespace cuckooguard::text
