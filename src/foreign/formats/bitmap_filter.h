// What all Bloom filters of one array of bits share: the bytes, and what is told of them.
//
// Threads, lifetimes: as of Filter. Errors: refuse_bitmap(). Limits: kRedisBitsMax.
// Source: SETBIT, "offset ... smaller than 2^32"; the rate of Bloom, "Space/Time Trade-offs in Hash
// Coding with Allowable Errors", 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foreign/filter.h"
#include "formats/bit_array.h"

namespace cuckooguard::foreign {

inline constexpr std::uint64_t kRedisBitsMax = std::uint64_t{1} << 32U;

// What a Bloom filter's configuration says of it.
struct Shape {
  std::uint64_t bits = 0;
  std::uint32_t hashes = 0;
};

// Why a string of Redis cannot be a filter of this shape; nothing if it can. A string that is
// shorter has zeros behind it, as Redis gives it bytes only when a bit there is set: but where many
// are set, some are near the end, unless it was made with fewer bits. `reach`: as of BitmapFilter.
std::optional<std::string> refuse_bitmap(std::string_view bitmap,
                                         Shape shape,
                                         std::uint64_t reach = kRedisBitsMax);

class BitmapFilter : public Filter {
 public:
  Facts facts() const noexcept override;
  std::string bytes() const override { return bytes_; }

 protected:
  // `reach`: how many of the bits can be an item's, if not all.
  BitmapFilter(
      std::string_view format, std::string bytes, BitOrder order, Shape shape, std::uint64_t reach);

  std::uint64_t bits() const noexcept { return facts_.bits_or_slots; }
  std::uint32_t hashes() const noexcept { return facts_.hashes; }
  bool has(std::uint64_t bit) const noexcept { return array_.has(bit); }
  void set(std::uint64_t bit);  // as SETBIT: there are as many bytes as the highest needs

 private:
  std::string bytes_;
  BitArray array_;
  std::uint64_t reach_;
  std::uint64_t set_;  // bits
  Facts facts_;        // what no item changes
};

// One whose items each have bits: those that `Format`'s for_each_bit(item, visit) visits, until
// `visit` says false; it says whether that never did.
template <typename Format>
class BitsOfItems : public BitmapFilter {
 public:
  bool may_contain(std::string_view item) const noexcept override {
    return format().for_each_bit(item, [this](std::uint64_t bit) { return has(bit); });
  }
  bool add(std::string_view item) override {
    return format().for_each_bit(item, [this](std::uint64_t bit) {
      set(bit);
      return true;
    });
  }

 private:
  friend Format;

  BitsOfItems(
      std::string_view format, std::string bytes, BitOrder order, Shape shape, std::uint64_t reach)
      : BitmapFilter(format, std::move(bytes), order, shape, reach) {}

  const Format& format() const { return static_cast<const Format&>(*this); }
};

// Of so many items at this rate, by Guava's optimalNumOfBits(), which Redisson has, too, before the
// number is made a whole one; and then optimalNumOfHashFunctions().
double optimal_bits(std::int64_t items, double false_probability);
std::uint32_t optimal_hashes(std::int64_t items, std::uint64_t bits);

// Of Wanted, by which both are made.
inline constexpr std::string_view kCapacityAndRate = "--capacity and --rate";
// As many as Java counts.
std::int64_t java_long(std::uint64_t items);

}  // namespace cuckooguard::foreign
