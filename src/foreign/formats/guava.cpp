#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "formats/formats.h"
#include "formats/hashes.h"
#include "text/number.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::size_t kHeader = 6;
constexpr std::size_t kLong = 8;
constexpr std::uint64_t kWithoutSign = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMitz32Reach = std::uint64_t{1} << 31U;
constexpr std::uint64_t kLongsMax = std::numeric_limits<std::int32_t>::max();
constexpr std::uint32_t kFileHashesMax = std::numeric_limits<std::uint8_t>::max();

// As Java's Long.parseLong reads it, but digits of ASCII alone.
std::optional<std::int64_t> number_of(std::string_view item) {
  if (item.starts_with('+') && !item.starts_with("+-")) {
    item.remove_prefix(1);
  }
  return text::number_of<std::int64_t>(item);
}

Hash128 hash_of(std::int64_t number) {
  std::array<char, kLong> bytes{};
  auto left = static_cast<std::uint64_t>(number);
  for (char& byte : bytes) {
    byte = static_cast<char>(left & 0xFFU);
    left >>= 8U;
  }
  return Murmur3X64(std::string_view(bytes.data(), bytes.size())).hash();
}

// As read_guava() takes it off.
std::string header_of(Shape shape, Strategy strategy) {
  const std::uint64_t longs = shape.bits / (kLong * 8);
  std::string header{strategy == Strategy::murmur128_mitz_32 ? '\0' : '\1',
                     static_cast<char>(shape.hashes)};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    header.push_back(static_cast<char>((longs >> shift) & 0xFFU));
  }
  return header;
}

std::uint64_t reach_of(const GuavaBitmap& made) {
  return made.strategy == Strategy::murmur128_mitz_32 ? kMitz32Reach : made.shape.bits;
}

class GuavaFilter final : public BitmapFilter {
 public:
  GuavaFilter(std::string_view format, std::string bytes, BitOrder order, GuavaBitmap made)
      : BitmapFilter(format, std::move(bytes), order, made.shape, reach_of(made)),
        strategy_(made.strategy),
        funnel_(made.funnel),
        is_file_(order == BitOrder::big_endian_longs) {}

  bool may_contain(std::string_view item) const noexcept override {
    if (funnel_ == Funnel::utf8) {
      return has_all(Murmur3X64(item).hash());
    }
    const auto number = number_of(item);
    return !number || has_all(hash_of(*number));
  }

  bool add(std::string_view item) override {
    const auto set_all = [this](Hash128 hash) {
      return for_each_bit(hash, [this](std::uint64_t bit) {
        set(bit);
        return true;
      });
    };
    if (funnel_ == Funnel::utf8) {
      return set_all(Murmur3X64(item).hash());
    }
    const auto number = number_of(item);
    return number && set_all(hash_of(*number));
  }

  std::string bytes() const override {
    return is_file_
               ? header_of({.bits = bits(), .hashes = hashes()}, strategy_) + BitmapFilter::bytes()
               : BitmapFilter::bytes();
  }

 private:
  bool has_all(Hash128 hash) const noexcept {
    return for_each_bit(hash, [this](std::uint64_t bit) { return has(bit); });
  }

  // Of an item, until `visit` says false; whether it never did.
  template <typename Visit>
  bool for_each_bit(Hash128 hash, Visit visit) const {
    return strategy_ == Strategy::murmur128_mitz_32 ? for_each_bit_32(hash.low, visit)
                                                    : for_each_bit_64(hash, visit);
  }

  template <typename Visit>
  bool for_each_bit_32(std::uint64_t hash, Visit visit) const {
    const auto step = static_cast<std::uint32_t>(hash >> 32U);
    auto position = static_cast<std::uint32_t>(hash);
    for (std::uint32_t i = 0; i < hashes(); ++i) {
      position += step;
      const bool negative = (position >> 31U) != 0;
      if (!visit((negative ? ~position : position) % bits())) {
        return false;
      }
    }
    return true;
  }

  template <typename Visit>
  bool for_each_bit_64(Hash128 hash, Visit visit) const {
    std::uint64_t position = hash.low;
    for (std::uint32_t i = 0; i < hashes(); ++i) {
      if (!visit((position & kWithoutSign) % bits())) {
        return false;
      }
      position += hash.high;
    }
    return true;
  }

  Strategy strategy_;
  Funnel funnel_;
  bool is_file_;
};

constexpr std::string_view kNoLong = "is not a 64-bit integer, as --funnel long requires";

}  // namespace

FilterOrWhyNot read_guava(std::string file, Funnel funnel) {
  if (file.size() < kHeader) {
    return std::unexpected(fmt::format(
        "a Guava filter begins with {} bytes, but the file has {}", kHeader, file.size()));
  }
  const auto byte = [&file](std::size_t at) { return static_cast<unsigned char>(file[at]); };
  if (byte(0) > 1) {
    return std::unexpected(
        fmt::format("not a Guava filter: its strategies are 0 and 1, but the first byte is {}",
                    static_cast<unsigned>(byte(0))));
  }
  if (byte(1) == 0) {
    return std::unexpected("not a Guava filter: its items have no bits");
  }
  std::uint64_t longs = 0;
  for (std::size_t at = 2; at < kHeader; ++at) {
    longs = (longs << 8U) | byte(at);
  }
  if (longs == 0 || longs > kLongsMax || longs * kLong != file.size() - kHeader) {
    return std::unexpected(
        fmt::format("an incomplete Guava filter: it announces {} longs, but {} bytes follow",
                    longs,
                    file.size() - kHeader));
  }
  const GuavaBitmap made{
      .shape = {.bits = longs * kLong * 8, .hashes = byte(1)},
      .strategy = byte(0) == 0 ? Strategy::murmur128_mitz_32 : Strategy::murmur128_mitz_64,
      .funnel = funnel};
  file.erase(0, kHeader);
  return std::make_unique<GuavaFilter>("guava", std::move(file), BitOrder::big_endian_longs, made);
}

std::expected<Shape, std::string> guava_shape(std::int64_t expected_insertions,
                                              double false_probability) {
  if (std::isnan(false_probability) || false_probability <= 0 || false_probability >= 1) {
    return std::unexpected(fmt::format(
        "Guava's false positive probability must be between 0 and 1, not {}", false_probability));
  }
  const std::int64_t items = expected_insertions == 0 ? 1 : expected_insertions;
  const double bits = optimal_bits(items, false_probability);
  constexpr std::uint64_t kBitsMax = kLongsMax * kLong * 8;
  if (bits < 1 || bits >= static_cast<double>(kBitsMax) + 1) {
    return std::unexpected(fmt::format(
        "Guava does not support filters of {} bits, only of 1 to {}", std::trunc(bits), kBitsMax));
  }
  const auto whole = static_cast<std::uint64_t>(bits);
  return Shape{.bits = whole, .hashes = optimal_hashes(items, whole)};
}

FilterOrWhyNot make_guava(Shape shape, Funnel funnel) {
  constexpr std::uint64_t kLongBits = kLong * 8;
  const std::uint64_t longs = shape.bits / kLongBits + (shape.bits % kLongBits == 0 ? 0 : 1);
  if (shape.hashes > kFileHashesMax || longs > kLongsMax) {
    return std::unexpected(fmt::format(
        "a Guava file has at most {} longs and {} bits per item, but {} and {} are configured",
        kLongsMax,
        kFileHashesMax,
        longs,
        shape.hashes));
  }
  shape.bits = longs * kLongBits;
  return read_guava(
      header_of(shape, Strategy::murmur128_mitz_64) + std::string(longs * kLong, '\0'), funnel);
}

FilterOrWhyNot read_guava_bitmap(std::string bitmap, GuavaBitmap made) {
  if (auto why = refuse_bitmap(bitmap, made.shape, reach_of(made))) {
    return std::unexpected(*std::move(why));
  }
  return std::make_unique<GuavaFilter>(
      "guava-bitmap", std::move(bitmap), BitOrder::highest_first, made);
}

constexpr Format kGuava{
    .name = "guava",
    .kept = Format::Kept::in_file,
    .funnel = true,
    .read = [](std::string bytes,
               const Parameters& stated) { return read_guava(std::move(bytes), stated.funnel); },
    .make =
        [](const Parameters& stated, const Wanted& wanted) {
          const auto shape = guava_shape(java_long(wanted.capacity), wanted.rate);
          return shape ? make_guava(*shape, stated.funnel) : std::unexpected(shape.error());
        },
    .made_of = {kCapacityAndRate, kCapacityAndRate},
    .why_no_item = kNoLong};

constexpr Format kGuavaBitmap{
    .name = "guava-bitmap",
    .kept = Format::Kept::as_bitmap,
    .bits = true,
    .hashes = true,
    .strategy = true,
    .funnel = true,
    .read =
        [](std::string bytes, const Parameters& stated) {
          return read_guava_bitmap(std::move(bytes),
                                   {.shape = {.bits = stated.bits, .hashes = stated.hashes},
                                    .strategy = stated.strategy,
                                    .funnel = stated.funnel});
        },
    .make =
        [](const Parameters& stated, const Wanted& wanted) {
          const auto shape = wanted.capacity == 0
                                 ? std::expected<Shape, std::string>(
                                       {.bits = stated.bits, .hashes = stated.hashes})
                                 : guava_shape(java_long(wanted.capacity), wanted.rate);
          return shape
                     ? read_guava_bitmap(
                           {},
                           {.shape = *shape, .strategy = stated.strategy, .funnel = stated.funnel})
                     : std::unexpected(shape.error());
        },
    .made_of = {kCapacityAndRate, "--bits and --hashes"},
    .why_no_item = kNoLong};

}  // namespace cuckooguard::foreign
