#include "redis/slot.h"

#include <algorithm>
#include <array>

namespace cuckooguard::redis {
namespace {

constexpr std::array<std::uint16_t, 256> crc16_table() {
  constexpr std::uint32_t kPolynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
    }
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kCrc16 = crc16_table();

std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) {
    return key;
  }
  const std::size_t close = key.find('}', open + 1);
  return close == std::string_view::npos || close == open + 1
             ? key
             : key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t slot_of(std::string_view key) noexcept {
  std::uint32_t crc = 0;
  for (const char byte : hashed_part(key)) {
    const std::uint32_t index = ((crc >> 8U) ^ static_cast<unsigned char>(byte)) & 0xffU;
    crc = ((crc << 8U) ^ kCrc16[index]) & 0xffffU;
  }
  return static_cast<std::uint16_t>(crc % kSlots);
}

bool are_of_one_slot(std::span<const std::string_view> keys) noexcept {
  return std::ranges::adjacent_find(keys, std::ranges::not_equal_to(), slot_of) == keys.end();
}

}  // namespace cuckooguard::redis
