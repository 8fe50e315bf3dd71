#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "formats/formats.h"
#include "formats/hashes.h"
#include "formats/slots.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::uint64_t kSeed = 1337;
constexpr std::uint32_t kSlots = 4;
constexpr std::uint64_t kBucketsMax = std::uint64_t{1} << 32U;
constexpr std::size_t kMovesMax = 500;

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
           bucket_has(slots_, other_bucket(bucket, fingerprint), kSlots, fingerprint);
  }

  bool add(std::string_view item) override {
    const std::uint64_t hash = metro_hash_64(item, kSeed);
    const std::uint8_t fingerprint = fingerprint_of(hash);
    const std::uint64_t bucket = (hash >> 32U) & mask_;
    const std::uint64_t other = other_bucket(bucket, fingerprint);
    if (put(bucket, fingerprint) || put(other, fingerprint) ||
        put_by_moving(random_() % 2 == 0 ? bucket : other, fingerprint)) {
      ++taken_;
      return true;
    }
    return false;
  }

  std::string bytes() const override { return slots_; }

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
  std::uint64_t other_bucket(std::uint64_t bucket, std::uint8_t fingerprint) const noexcept {
    return (bucket ^ other_[fingerprint]) & mask_;
  }

  bool put(std::uint64_t bucket, std::uint8_t fingerprint) {
    for (std::uint64_t slot = bucket * kSlots; slot < (bucket + 1) * kSlots; ++slot) {
      if (slots_[slot] == '\0') {
        slots_[slot] = static_cast<char>(fingerprint);
        return true;
      }
    }
    return false;
  }

  bool put_by_moving(std::uint64_t bucket, std::uint8_t fingerprint) {
    std::array<std::uint64_t, kMovesMax> moved{};
    const auto swap = [&](std::uint64_t slot) {
      fingerprint =
          static_cast<std::uint8_t>(std::exchange(slots_[slot], static_cast<char>(fingerprint)));
    };
    for (std::uint64_t& slot : moved) {
      slot = bucket * kSlots + random_() % kSlots;
      swap(slot);
      bucket = other_bucket(bucket, fingerprint);
      if (put(bucket, fingerprint)) {
        return true;
      }
    }
    std::ranges::for_each(moved | std::views::reverse, swap);  // else one would be lost
    return false;
  }

  std::string slots_;
  std::uint64_t mask_;
  std::uint64_t taken_;
  std::array<std::uint64_t, 256> other_{};  // hashes of fingerprints
  std::minstd_rand random_;                 // which are moved
};

}  // namespace

FilterOrWhyNot read_seiflotfy(std::string encoded) {
  const std::uint64_t buckets = encoded.size() / kSlots;
  if (encoded.size() % kSlots != 0 || !std::has_single_bit(buckets) || buckets > kBucketsMax) {
    return std::unexpected(
        fmt::format("not a seiflotfy/cuckoofilter file: it has a power of two of buckets of {} "
                    "bytes, 1 to {} of them, but this file has {} bytes",
                    kSlots,
                    kBucketsMax,
                    encoded.size()));
  }
  return std::make_unique<SeiflotfyFilter>(std::move(encoded));
}

FilterOrWhyNot make_seiflotfy(std::uint64_t capacity) {
  if (capacity == 0 || capacity > kBucketsMax * kSlots) {
    return std::unexpected(
        fmt::format("seiflotfy/cuckoofilter supports filters for 1 to {} items, not {}",
                    kBucketsMax * kSlots,
                    capacity));
  }
  const std::uint64_t slots = std::max<std::uint64_t>(std::bit_ceil(capacity), kSlots);
  return read_seiflotfy(std::string(slots, '\0'));
}

constexpr Format kSeiflotfy{
    .name = "seiflotfy",
    .kept = Format::Kept::in_file,
    .read = [](std::string bytes,
               const Parameters& /*stated*/) { return read_seiflotfy(std::move(bytes)); },
    .make = [](const Parameters& /*stated*/,
               const Wanted& wanted) { return make_seiflotfy(wanted.capacity); },
    .made_of = {"--capacity", "--capacity"},
    .why_no_item = "does not fit: the filter is full"};

}  // namespace cuckooguard::foreign
