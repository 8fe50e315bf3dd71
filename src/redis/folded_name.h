// A command's name in lower case as three words: cheap to compute, to hash and to compare, at run
// time and at compile time alike.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cuckooguard::redis {

inline constexpr std::size_t kNameBytesMax = 24;

template <std::size_t kBytes>
constexpr std::uint64_t load_bytes(const char* from) {
  std::uint64_t word = 0;
  if consteval {
    for (std::size_t i = 0; i < kBytes; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    }
  } else {
    std::memcpy(&word, from, kBytes);
  }
  return word;
}
static_assert(std::endian::native == std::endian::little, "load_bytes");

// Eight ASCII characters at once.
constexpr std::uint64_t to_lower(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t ascii = ~word & (0x80 * kOnes);
  const std::uint64_t low_bits = word & (0x7f * kOnes);
  const std::uint64_t from_a = low_bits + (0x80 - 'A') * kOnes;
  const std::uint64_t beyond_z = low_bits + (0x7f - 'Z') * kOnes;
  return word | ((ascii & from_a & ~beyond_z) >> 2);
}

// A name of 1 to kNameBytesMax bytes in lower case, as three words that overlap where it is not a
// multiple of eight: together with its length they say the name.
using FoldedName = std::array<std::uint64_t, 3>;

constexpr FoldedName fold(std::string_view name) {
  const std::size_t size = name.size();
  const char* const begin = name.data();
  const char* const end = begin + size;
  FoldedName words{};
  if (size >= 8) {
    words = {load_bytes<8>(begin),
             load_bytes<8>(size >= 16 ? begin + 8 : begin),
             load_bytes<8>(end - 8)};
  } else if (size >= 4) {
    words = {load_bytes<4>(begin), load_bytes<4>(end - 4), 0};
  } else {
    words = {load_bytes<1>(begin), load_bytes<1>(begin + size / 2), load_bytes<1>(end - 1)};
  }
  return {to_lower(words[0]), to_lower(words[1]), to_lower(words[2])};
}

}  // namespace cuckooguard::redis
