#include "foreign/go_zero.h"

#include <memory>
#include <string_view>
#include <utility>

#include "foreign/bitmap_filter.h"
#include "foreign/hashes.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::uint32_t kHashes = 14;

class GoZeroFilter final : public BitmapFilter {
 public:
  GoZeroFilter(std::string bitmap, Shape shape)
      : BitmapFilter("go-zero", std::move(bitmap), BitOrder::highest_first, shape, kRedisBitsMax) {}

  bool may_contain(std::string_view item) const noexcept override {
    return for_each_bit(item, [this](std::uint64_t bit) { return has(bit); });
  }

  bool add(std::string_view item) override {
    return for_each_bit(item, [this](std::uint64_t bit) {
      set(bit);
      return true;
    });
  }

 private:
  // Of an item, until `visit` says false; whether it never did.
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

}  // namespace cuckooguard::foreign
