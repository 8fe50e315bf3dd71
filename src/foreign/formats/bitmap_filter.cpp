#include "formats/bitmap_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

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
        "a Redis bitmap has 1 to {} bits, but {} are configured", kRedisBitsMax, shape.bits);
  }
  if (shape.hashes == 0 || shape.hashes > kHashesMax) {
    return fmt::format(
        "an item sets 1 to {} bits, but {} are configured", kHashesMax, shape.hashes);
  }
  const std::uint64_t bytes = (shape.bits + 7) / 8;
  if (bitmap.size() > bytes) {
    return fmt::format(
        "the bitmap has {} bytes, more than {} bits need ({}): it was created with another number "
        "of bits",
        bitmap.size(),
        shape.bits,
        bytes);
  }
  if (!bitmap.empty() && log_of_chance(bitmap, shape, reach) < kNeverLog) {
    return fmt::format(
        "the bitmap ends after {} bytes although many of its bits are set, but {} bits need {}: it "
        "was created with fewer bits",
        bitmap.size(),
        shape.bits,
        bytes);
  }
  const BitArray array(bitmap, BitOrder::highest_first);
  for (std::uint64_t bit = shape.bits; bit < bytes * 8; ++bit) {
    if (array.has(bit)) {
      return fmt::format(
          "bit {} of the bitmap is set, but it has {} bits: it was created with another number of "
          "bits",
          bit,
          shape.bits);
    }
  }
  return std::nullopt;
}

BitmapFilter::BitmapFilter(
    std::string_view format, std::string bytes, BitOrder order, Shape shape, std::uint64_t reach)
    : bytes_(std::move(bytes)),
      array_(bytes_, order),
      reach_(std::min(reach, shape.bits)),
      set_(array_.count()),
      facts_{.format = format, .bits_or_slots = shape.bits, .hashes = shape.hashes, .items = {}} {}

Facts BitmapFilter::facts() const noexcept {
  Facts facts = facts_;
  facts.bytes = bytes_.size();
  facts.fill = static_cast<double>(set_) / static_cast<double>(bits());
  facts.false_positive_rate = bloom_false_positive_rate(set_, reach_, hashes());
  return facts;
}

void BitmapFilter::set(std::uint64_t bit) {
  if (has(bit)) {
    return;
  }
  const BitArray::Place place = array_.place_of(bit);
  if (place.byte >= bytes_.size()) {
    bytes_.resize(place.byte + 1);
    array_.move_to(bytes_);
  }
  bytes_[place.byte] =
      static_cast<char>(static_cast<unsigned char>(bytes_[place.byte]) | (1U << place.bit));
  ++set_;
}

double optimal_bits(std::int64_t items, double false_probability) {
  return -static_cast<double>(items) * std::log(false_probability) /
         (std::numbers::ln2 * std::numbers::ln2);
}

std::uint32_t optimal_hashes(std::int64_t items, std::uint64_t bits) {
  const double hashes = static_cast<double>(bits) / static_cast<double>(items) * std::numbers::ln2;
  return static_cast<std::uint32_t>(std::max(std::floor(hashes + 0.5), 1.0));
}

std::int64_t java_long(std::uint64_t items) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(items, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace cuckooguard::foreign
