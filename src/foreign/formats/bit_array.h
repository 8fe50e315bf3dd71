// Bits in bytes that another program has written, in its order.
//
// Threads: any. Lifetimes: a view; the bytes must remain. Errors: none; the caller that makes one
//   has checked that there are enough bytes for so many bits. Limits: none.
// Source: Redis's SETBIT counts from a byte's highest bit; RedisBloom from the lowest; Guava has
// longs, written with the highest byte first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::foreign {

enum class BitOrder : std::uint8_t { highest_first, lowest_first, big_endian_longs };

class BitArray {
 public:
  BitArray(std::string_view bytes, BitOrder order)
      : bytes_(bytes),
        byte_flip_(order == BitOrder::big_endian_longs ? 7 : 0),
        bit_flip_(order == BitOrder::highest_first ? 7 : 0) {}

  struct Place {
    std::uint64_t byte;
    unsigned bit;  // from the lowest
  };
  Place place_of(std::uint64_t bit) const noexcept {
    return {.byte = (bit >> 3U) ^ byte_flip_, .bit = static_cast<unsigned>(bit & 7U) ^ bit_flip_};
  }

  // Behind the bytes there are zeros.
  bool has(std::uint64_t bit) const noexcept {
    const Place place = place_of(bit);
    return place.byte < bytes_.size() &&
           ((static_cast<unsigned char>(bytes_[place.byte]) >> place.bit) & 1U) != 0;
  }

  void move_to(std::string_view bytes) noexcept { bytes_ = bytes; }

  std::uint64_t count() const noexcept {
    std::uint64_t set = 0;
    std::string_view left = bytes_;
    while (!left.empty()) {  // words, as there may be 512 MiB
      std::array<char, sizeof(std::uint64_t)> word{};
      const std::size_t taken = left.copy(word.data(), word.size());
      set += static_cast<unsigned>(std::popcount(std::bit_cast<std::uint64_t>(word)));
      left.remove_prefix(taken);
    }
    return set;
  }

 private:
  std::string_view bytes_;
  unsigned byte_flip_;
  unsigned bit_flip_;
};

// How often `hashes` positions, each anywhere among `bits`, are all set.
inline double bloom_false_positive_rate(std::uint64_t set,
                                        std::uint64_t bits,
                                        std::uint32_t hashes) {
  const double fill = static_cast<double>(set) / static_cast<double>(bits);
  return std::pow(std::min(fill, 1.0), hashes);
}

}  // namespace cuckooguard::foreign
