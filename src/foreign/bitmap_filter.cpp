#include "foreign/bitmap_filter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cuckooguard::foreign {

std::optional<std::string> refuse_bitmap(std::string_view bitmap, Shape shape) {
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
