#include "foreign/bitmap_filter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace cuckooguard::foreign {

namespace {

// One in a million million filters of the right shape would be refused.
constexpr double kNeverLog = -27.6;

// How likely it is, as a logarithm, that of so many bits none is behind these bytes. An item's bits
// hang together: they count as one.
double log_of_chance(std::string_view bitmap, Shape shape, std::uint64_t reach) {
  const double share =
      static_cast<double>(bitmap.size()) * 8 / static_cast<double>(std::min(reach, shape.bits));
  if (share >= 1) {
    return 0;
  }
  const auto set = static_cast<double>(BitArray(bitmap, BitOrder::highest_first).count());
  return set / shape.hashes * std::log(share);
}

}  // namespace

std::optional<std::string> refuse_bitmap(std::string_view bitmap,
                                         Shape shape,
                                         std::uint64_t reach) {
  if (shape.bits == 0 || shape.bits > kRedisBitsMax) {
    return fmt::format(
        "a bitmap of Redis has 1 to {} bits; {} are said", kRedisBitsMax, shape.bits);
  }
  if (shape.hashes == 0 || shape.hashes > kHashesMax) {
    return fmt::format("an item has 1 to {} bits; {} are said", kHashesMax, shape.hashes);
  }
  const std::uint64_t bytes = (shape.bits + 7) / 8;
  if (bitmap.size() > bytes) {
    return fmt::format(
        "the bitmap has {} bytes, which is more than its {} bits take ({}): it was"
        " made with another number of bits",
        bitmap.size(),
        shape.bits,
        bytes);
  }
  if (!bitmap.empty() && log_of_chance(bitmap, shape, reach) < kNeverLog) {
    return fmt::format(
        "the bitmap ends after {} bytes, although many of its bits are set, where {} bits take {}: "
        "it was made with fewer bits",
        bitmap.size(),
        shape.bits,
        bytes);
  }
  const BitArray array(bitmap, BitOrder::highest_first);
  for (std::uint64_t bit = shape.bits; bit < bytes * 8; ++bit) {
    if (array.has(bit)) {
      return fmt::format(
          "bit {} of the bitmap is set, where it has {} bits: it was made with"
          " another number of bits",
          bit,
          shape.bits);
    }
  }
  return std::nullopt;
}

BitmapFilter::BitmapFilter(
    std::string_view format, std::string bytes, BitOrder order, Shape shape, std::uint64_t reach)
    : bytes_(std::move(bytes)), array_(bytes_, order) {
  const std::uint64_t set = array_.count();
  facts_ = {.format = format,
            .bits_or_slots = shape.bits,
            .bytes = bytes_.size(),
            .hashes = shape.hashes,
            .items = std::nullopt,
            .fill = static_cast<double>(set) / static_cast<double>(shape.bits),
            .false_positive_rate =
                bloom_false_positive_rate(set, std::min(reach, shape.bits), shape.hashes)};
}

}  // namespace cuckooguard::foreign
