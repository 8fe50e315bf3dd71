#include <memory>
#include <string_view>
#include <utility>

#include "formats/bitmap_filter.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::uint32_t kHashes = 14;

class GoZeroFilter final : public BitsOfItems<GoZeroFilter> {
 public:
  GoZeroFilter(std::string bitmap, Shape shape)
      : BitsOfItems("go-zero", std::move(bitmap), BitOrder::highest_first, shape, kRedisBitsMax) {}

  template <typename Visit>
  bool for_each_bit(std::string_view item, Visit visit) const {
    const Murmur3X64 hash(item);
    for (std::uint32_t i = 0; i < kHashes; ++i) {
      if (!visit(hash.hash_with(static_cast<char>(i)).low % bits())) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace

FilterOrWhyNot read_go_zero(std::string bitmap, std::uint64_t bits) {
  const Shape shape{.bits = bits, .hashes = kHashes};
  if (auto why = refuse_bitmap(bitmap, shape)) {
    return std::unexpected(*std::move(why));
  }
  return std::make_unique<GoZeroFilter>(std::move(bitmap), shape);
}

constexpr Format kGoZero{
    .name = "go-zero",
    .kept = Format::Kept::as_bitmap,
    .bits = true,
    .read = [](std::string bytes,
               const Parameters& stated) { return read_go_zero(std::move(bytes), stated.bits); },
    .make = [](const Parameters& stated,
               const Wanted& /*wanted*/) { return read_go_zero({}, stated.bits); },
    .made_of = {"--bits", "--bits"}};

}  // namespace cuckooguard::foreign
