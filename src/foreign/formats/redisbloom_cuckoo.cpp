#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/formats.h"
#include "formats/hashes.h"
#include "formats/slots.h"
#include "text/little_endian.h"
#include "text/try.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::size_t kHeaderBytes = 38;
constexpr std::size_t kSeededHeaderBytes = 46;
constexpr std::uint64_t kHasSeed = std::uint64_t{1} << 63U;
constexpr std::uint64_t kLayersMax = 65535;
constexpr std::uint16_t kSlotsMax = 255;
constexpr std::uint64_t kLayerSlotsMax = std::numeric_limits<std::uint32_t>::max();

struct Header {
  std::uint64_t items = 0;
  std::uint64_t buckets = 0;  // of the first layer
  std::uint64_t layers = 0;
  std::uint16_t slots = 0;  // of a bucket
  std::uint16_t expansion = 0;
  std::uint64_t seed = 0;
};

std::expected<Header, std::string> read_header(std::string_view bytes) {
  text::LittleEndianCursor from(bytes);
  Header header;
  header.items = from.take<std::uint64_t>();
  header.buckets = from.take<std::uint64_t>();
  from.skip(sizeof(std::uint64_t));
  const auto layers = from.take<std::uint64_t>();
  const bool has_seed = (layers & kHasSeed) != 0;
  header.layers = layers & ~kHasSeed;
  header.slots = from.take<std::uint16_t>();
  from.skip(sizeof(std::uint16_t));
  header.expansion = from.take<std::uint16_t>();
  if (has_seed) {
    header.seed = from.take<std::uint64_t>();
  }
  if (!from.ok() || bytes.size() != (has_seed ? kSeededHeaderBytes : kHeaderBytes)) {
    return std::unexpected(fmt::format("has {} bytes instead of {}, or {} with a seed",
                                       bytes.size(),
                                       kHeaderBytes,
                                       kSeededHeaderBytes));
  }
  if (header.layers == 0 || header.layers > kLayersMax) {
    return std::unexpected(
        fmt::format("announces {} layers, but 1 to {} are possible", header.layers, kLayersMax));
  }
  if (header.slots == 0 || header.slots > kSlotsMax) {
    return std::unexpected(fmt::format(
        "announces {} slots per bucket, but 1 to {} are possible", header.slots, kSlotsMax));
  }
  if (!std::has_single_bit(header.buckets)) {
    return std::unexpected(fmt::format("announces {} buckets, not a power of two", header.buckets));
  }
  if (header.layers > 1 && !std::has_single_bit(header.expansion)) {
    return std::unexpected(
        fmt::format("announces that layers grow by {}, not a power of two", header.expansion));
  }
  return header;
}

struct Layer {
  std::string_view slots;
  std::uint64_t buckets = 0;
};

// Views into `data`, all of it.
std::expected<std::vector<Layer>, std::string> cut(std::string_view data, const Header& header) {
  std::vector<Layer> layers;
  std::string_view left = data;
  std::uint64_t buckets = header.buckets;
  for (std::uint64_t i = 0; i < header.layers; ++i) {
    if (buckets > left.size() / header.slots) {
      return std::unexpected(fmt::format(
          "the CF.SCANDUMP is incomplete: its {} bytes of data are fewer than its layers'",
          data.size()));
    }
    const std::uint64_t slots = buckets * header.slots;
    if (slots > kLayerSlotsMax) {
      return std::unexpected(
          fmt::format("{} slots in a layer, but at most {} are possible", slots, kLayerSlotsMax));
    }
    layers.push_back({.slots = left.substr(0, slots), .buckets = buckets});
    left.remove_prefix(slots);
    buckets *= header.expansion;
  }
  if (!left.empty()) {
    return std::unexpected(fmt::format(
        "the CF.SCANDUMP has {} bytes, more than its layers': the filter grew during the dump",
        left.size()));
  }
  return layers;
}

class RedisBloomCuckoo final : public Filter {
 public:
  RedisBloomCuckoo(const Header& header, std::string data)
      : data_(std::move(data)), seed_(header.seed), slots_(header.slots) {
    layers_ = *cut(data_, header);
    double none = 1;
    for (const Layer& layer : layers_) {
      none *= 1 - cuckoo_false_positive_rate(count_taken(layer.slots), layer.slots, slots_);
    }
    facts_ = {.format = "redisbloom-cuckoo",
              .bits_or_slots = data_.size(),
              .bytes = data_.size(),
              .hashes = 2,
              .items = header.items,
              .fill = static_cast<double>(header.items) / static_cast<double>(data_.size()),
              .false_positive_rate = 1 - none};
  }

  bool may_contain(std::string_view item) const noexcept override {
    const std::uint64_t first = murmur_hash_64a(item, seed_);
    const std::uint8_t fingerprint = fingerprint_of(first);
    const std::uint64_t second = first ^ (std::uint64_t{fingerprint} * 0x5BD1E995);
    return std::ranges::any_of(layers_, [&](const Layer& layer) {
      return bucket_has(layer.slots, first % layer.buckets, slots_, fingerprint) ||
             bucket_has(layer.slots, second % layer.buckets, slots_, fingerprint);
    });
  }

  Facts facts() const noexcept override { return facts_; }

 private:
  std::string data_;
  std::uint64_t seed_;
  std::uint32_t slots_;
  std::vector<Layer> layers_;
  Facts facts_;
};

}  // namespace

FilterOrWhyNot read_redisbloom_cuckoo(std::string_view header, std::string data) {
  const auto read = read_header(header);
  if (!read) {
    return std::unexpected("the header of CF.SCANDUMP " + read.error());
  }
  TRY(cut(data, *read));
  if (const std::uint64_t taken = count_taken(data); taken != read->items) {
    return std::unexpected(
        fmt::format("the header of CF.SCANDUMP announces {} items, but its data has {}: the filter "
                    "changed during the dump",
                    read->items,
                    taken));
  }
  return std::make_unique<RedisBloomCuckoo>(*read, std::move(data));
}

constexpr Format kRedisCuckoo{.name = "rediscuckoo",
                              .kept = Format::Kept::by_cuckoo_dump,
                              .read_dump = read_redisbloom_cuckoo};

}  // namespace cuckooguard::foreign
