#include "foreign/seiflotfy.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "foreign/hashes.h"
#include "foreign/slots.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::uint64_t kSeed = 1337;
constexpr std::uint32_t kSlots = 4;
constexpr std::uint64_t kBucketsMax = std::uint64_t{1} << 32U;

class SeiflotfyFilter final : public Filter {
 public:
  explicit SeiflotfyFilter(std::string slots)
      : slots_(std::move(slots)), mask_(slots_.size() / kSlots - 1), taken_(count_taken(slots_)) {
    for (std::size_t i = 0; i < other_.size(); ++i) {
      const char byte = static_cast<char>(i);
      other_[i] = metro_hash_64({&byte, 1}, kSeed);
    }
  }

  bool may_contain(std::string_view item) const noexcept override {
    const std::uint64_t hash = metro_hash_64(item, kSeed);
    const std::uint8_t fingerprint = fingerprint_of(hash);
    const std::uint64_t bucket = hash >> 32U;
    return bucket_has(slots_, bucket & mask_, kSlots, fingerprint) ||
           bucket_has(slots_, (bucket ^ other_[fingerprint]) & mask_, kSlots, fingerprint);
  }

  Facts facts() const noexcept override {
    return {.format = "seiflotfy",
            .bits_or_slots = slots_.size(),
            .bytes = slots_.size(),
            .hashes = 2,
            .items = taken_,
            .fill = static_cast<double>(taken_) / static_cast<double>(slots_.size()),
            .false_positive_rate = cuckoo_false_positive_rate(taken_, slots_, kSlots)};
  }

 private:
  std::string slots_;
  std::uint64_t mask_;
  std::uint64_t taken_;
  std::array<std::uint64_t, 256> other_{};  // hashes of fingerprints
};

}  // namespace

FilterOrWhyNot read_seiflotfy(std::string encoded) {
  const std::uint64_t buckets = encoded.size() / kSlots;
  if (encoded.size() % kSlots != 0 || !std::has_single_bit(buckets) || buckets > kBucketsMax) {
    return std::unexpected(
        fmt::format("no filter of seiflotfy/cuckoofilter: it has buckets of {} bytes, 1 to {} of"
                    " them and a power of two; there are {} bytes",
                    kSlots,
                    kBucketsMax,
                    encoded.size()));
  }
  return std::make_unique<SeiflotfyFilter>(std::move(encoded));
}

}  // namespace cuckooguard::foreign
