#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {

namespace {

constexpr HighwayKey kKey{
    0x9E3779B97F4A7C15, 0xF39CC0605CEDC834, 0x1082276BF3A27251, 0xF86C6A11D0C18E95};
constexpr std::uint64_t kWithoutSign = std::numeric_limits<std::int64_t>::max();

class RedissonFilter final : public BitsOfItems<RedissonFilter> {
 public:
  RedissonFilter(std::string bitmap, Shape shape)
      : BitsOfItems(
            "redisson", std::move(bitmap), BitOrder::highest_first, shape, kRedissonBitsMax) {}

  template <typename Visit>
  bool for_each_bit(std::string_view item, Visit visit) const {
    const Hash128 hash = highway_hash_128(item, kKey);
    std::uint64_t position = hash.low;
    for (std::uint32_t i = 0; i < hashes(); ++i) {
      if (!visit((position & kWithoutSign) % bits())) {
        return false;
      }
      position += i % 2 == 0 ? hash.high : hash.low;
    }
    return true;
  }
};

}  // namespace

std::expected<Shape, std::string> redisson_shape(std::int64_t expected_insertions,
                                                 double false_probability) {
  if (std::isnan(false_probability) || false_probability < 0 || false_probability > 1) {
    return std::unexpected(fmt::format(
        "the false positive probability must be between 0 and 1, not {}", false_probability));
  }
  const double probability = std::max(false_probability, std::numeric_limits<double>::denorm_min());
  const double bits = optimal_bits(expected_insertions, probability);
  if (bits < 1 || bits >= static_cast<double>(kRedissonBitsMax) + 1) {
    return std::unexpected(
        fmt::format("Redisson does not support filters of {} bits, only of 1 to {}",
                    std::trunc(bits),
                    kRedissonBitsMax));
  }
  const auto whole = static_cast<std::uint64_t>(bits);
  return Shape{.bits = whole, .hashes = optimal_hashes(expected_insertions, whole)};
}

std::string redisson_key(std::string_view name, std::string_view suffix) {
  return name.contains('{') ? fmt::format("{}:{}", name, suffix)
                            : fmt::format("{{{}}}:{}", name, suffix);
}

FilterOrWhyNot read_redisson(std::string bitmap, Shape shape) {
  if (shape.bits > kRedissonBitsMax) {
    return std::unexpected(
        fmt::format("a Redisson filter has at most {} bits, but {} are configured",
                    kRedissonBitsMax,
                    shape.bits));
  }
  if (auto why = refuse_bitmap(bitmap, shape)) {
    return std::unexpected(*std::move(why));
  }
  return std::make_unique<RedissonFilter>(std::move(bitmap), shape);
}

constexpr Format kRedisson{
    .name = "redisson",
    .kept = Format::Kept::as_bitmap_with_shape,
    .read =
        [](std::string bytes, const Parameters& stated) {
          return read_redisson(std::move(bytes),
                               Shape{.bits = stated.bits, .hashes = stated.hashes});
        },
    .make =
        [](const Parameters& /*stated*/, const Wanted& wanted) {
          const auto shape = redisson_shape(java_long(wanted.capacity), wanted.rate);
          return shape ? read_redisson({}, *shape) : std::unexpected(shape.error());
        },
    .made_of = {kCapacityAndRate, kCapacityAndRate}};

}  // namespace cuckooguard::foreign
