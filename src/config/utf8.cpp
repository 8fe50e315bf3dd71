#include "config/utf8.h"

#include <algorithm>
#include <array>

namespace cuckooguard::config {
namespace {

// The characters of more than one byte, by their first and second byte; what follows are
// continuation bytes (Unicode 15, table 3-7). Overlong forms and surrogates are none.
struct Utf8Range {
  unsigned first_low, first_high;
  unsigned second_low, second_high;
  std::size_t bytes;
};
constexpr std::array kUtf8Ranges = {Utf8Range{0xc2, 0xdf, 0x80, 0xbf, 2},
                                    Utf8Range{0xe0, 0xe0, 0xa0, 0xbf, 3},
                                    Utf8Range{0xe1, 0xec, 0x80, 0xbf, 3},
                                    Utf8Range{0xed, 0xed, 0x80, 0x9f, 3},
                                    Utf8Range{0xee, 0xef, 0x80, 0xbf, 3},
                                    Utf8Range{0xf0, 0xf0, 0x90, 0xbf, 4},
                                    Utf8Range{0xf1, 0xf3, 0x80, 0xbf, 4},
                                    Utf8Range{0xf4, 0xf4, 0x80, 0x8f, 4}};

}  // namespace

std::size_t utf8_character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) {
    return 1;
  }
  for (const Utf8Range& range : kUtf8Ranges) {
    if (at(0) < range.first_low || at(0) > range.first_high || text.size() < range.bytes) {
      continue;
    }
    const std::string_view others = text.substr(2, range.bytes - 2);
    const bool continued = std::ranges::all_of(
        others, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
    return continued && at(1) >= range.second_low && at(1) <= range.second_high ? range.bytes : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace cuckooguard::config
