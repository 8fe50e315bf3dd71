#include "foreign/guava.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "foreign/hashes.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::size_t kHeader = 6;
constexpr std::size_t kLong = 8;
constexpr std::uint64_t kWithoutSign = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMitz32Reach = std::uint64_t{1} << 31U;

// As Java's Long.parseLong reads it, but digits of ASCII alone.
std::optional<std::int64_t> number_of(std::string_view item) {
  if (item.starts_with('+') && !item.starts_with("+-")) {
    item.remove_prefix(1);
  }
  std::int64_t number = 0;
  const auto [at, error] = std::from_chars(item.data(), item.data() + item.size(), number);
  if (error != std::errc{} || at != item.data() + item.size()) {
    return std::nullopt;
  }
  return number;
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

std::uint64_t reach_of(const GuavaBitmap& made) {
  return made.strategy == GuavaStrategy::murmur128_mitz_32 ? kMitz32Reach : made.shape.bits;
}

class GuavaFilter final : public BitmapFilter {
 public:
  GuavaFilter(std::string_view format, std::string bytes, BitOrder order, GuavaBitmap made)
      : BitmapFilter(format, std::move(bytes), order, made.shape, reach_of(made)),
        strategy_(made.strategy),
        funnel_(made.funnel) {}

  bool may_contain(std::string_view item) const noexcept override {
    if (funnel_ == GuavaFunnel::utf8) {
      return has_all(Murmur3X64(item).hash());
    }
    const auto number = number_of(item);
    return !number || has_all(hash_of(*number));
  }

 private:
  bool has_all(Hash128 hash) const noexcept {
    return strategy_ == GuavaStrategy::murmur128_mitz_32 ? has_all_32(hash.low) : has_all_64(hash);
  }

  bool has_all_32(std::uint64_t hash) const noexcept {
    const auto step = static_cast<std::uint32_t>(hash >> 32U);
    auto position = static_cast<std::uint32_t>(hash);
    for (std::uint32_t i = 0; i < hashes(); ++i) {
      position += step;
      const bool negative = (position >> 31U) != 0;
      if (!has((negative ? ~position : position) % bits())) {
        return false;
      }
    }
    return true;
  }

  bool has_all_64(Hash128 hash) const noexcept {
    std::uint64_t position = hash.low;
    for (std::uint32_t i = 0; i < hashes(); ++i) {
      if (!has((position & kWithoutSign) % bits())) {
        return false;
      }
      position += hash.high;
    }
    return true;
  }

  GuavaStrategy strategy_;
  GuavaFunnel funnel_;
};

}  // namespace

FilterOrWhyNot read_guava(std::string file, GuavaFunnel funnel) {
  if (file.size() < kHeader) {
    return std::unexpected(
        fmt::format("a filter of Guava begins with {} bytes; there are {}", kHeader, file.size()));
  }
  const auto byte = [&file](std::size_t at) { return static_cast<unsigned char>(file[at]); };
  if (byte(0) > 1) {
    return std::unexpected(
        fmt::format("no filter of Guava: its strategies are 0 and 1, the first byte is {}",
                    static_cast<unsigned>(byte(0))));
  }
  if (byte(1) == 0) {
    return std::unexpected("no filter of Guava: its items have no bits");
  }
  std::uint64_t longs = 0;
  for (std::size_t at = 2; at < kHeader; ++at) {
    longs = (longs << 8U) | byte(at);
  }
  if (longs == 0 || longs > std::numeric_limits<std::int32_t>::max() ||
      longs * kLong != file.size() - kHeader) {
    return std::unexpected(
        fmt::format("a filter of Guava that is not whole: {} longs are said, {}"
                    " bytes follow",
                    longs,
                    file.size() - kHeader));
  }
  const GuavaBitmap made{.shape = {.bits = longs * kLong * 8, .hashes = byte(1)},
                         .strategy = byte(0) == 0 ? GuavaStrategy::murmur128_mitz_32
                                                  : GuavaStrategy::murmur128_mitz_64,
                         .funnel = funnel};
  file.erase(0, kHeader);
  return std::make_unique<GuavaFilter>("guava", std::move(file), BitOrder::big_endian_longs, made);
}

FilterOrWhyNot read_guava_bitmap(std::string bitmap, GuavaBitmap made) {
  if (auto why = refuse_bitmap(bitmap, made.shape, reach_of(made))) {
    return std::unexpected(*std::move(why));
  }
  return std::make_unique<GuavaFilter>(
      "guava-bitmap", std::move(bitmap), BitOrder::highest_first, made);
}

}  // namespace cuckooguard::foreign
