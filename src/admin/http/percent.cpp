#include "http/percent.h"

#include <charconv>

namespace cuckooguard::http {

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const char byte = text.front();
    text.remove_prefix(1);
    if (byte != '%') {
      bytes += byte;
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(0, 2);
    const char* const begin = digits.data();
    const char* const end = begin + digits.size();
    if (digits.size() < 2 || std::from_chars(begin, end, value, 16).ptr != end) {
      return std::nullopt;
    }
    bytes += static_cast<char>(static_cast<unsigned char>(value));
    text.remove_prefix(2);
  }
  return bytes;
}

}  // namespace cuckooguard::http
