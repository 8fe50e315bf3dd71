#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/bit_array.h"
#include "formats/formats.h"
#include "formats/hashes.h"
#include "text/little_endian.h"

namespace cuckooguard::foreign {

namespace {

constexpr std::uint64_t kSeed = 0xC6A4A7935BD1E995;
constexpr std::size_t kChainBytes = 20;
constexpr std::size_t kLayerBytes = 53;
constexpr std::size_t kOldLayerBytes = 49;
constexpr std::size_t kSeedBytes = 8;
constexpr std::size_t kLayersMax = 65535;

constexpr std::uint64_t kWordBits = 64;  // a layer has no fewer

constexpr std::uint32_t kHashes64 = 4;
constexpr std::uint32_t kHasSeed = std::uint32_t{1} << 31U;
constexpr std::uint32_t kOptions = kHasSeed | 15;

struct Layer {
  std::uint64_t bytes = 0;
  std::uint64_t bits = 0;  // that items can have
  std::uint64_t items = 0;
  std::uint32_t hashes = 0;
};

struct Chain {
  std::uint64_t items = 0;
  std::uint64_t seed = kSeed;
  std::vector<Layer> layers;
};

std::optional<std::string> refuse(const Layer& layer, std::uint64_t stored_bits, unsigned n2) {
  if (layer.bytes == 0 || layer.bytes > stored_bits || layer.bytes * 8 != stored_bits) {
    return fmt::format("{} bits in {} bytes", stored_bits, layer.bytes);
  }
  if (n2 > 63 || (n2 > 0 && std::max(kWordBits, std::uint64_t{1} << n2) != stored_bits)) {
    return fmt::format("2^{} of {} bits", n2, stored_bits);
  }
  if (layer.hashes == 0 || layer.hashes > kHashesMax) {
    return fmt::format("{} bits per item, but 1 to {} are possible", layer.hashes, kHashesMax);
  }
  return std::nullopt;
}

std::expected<Layer, std::string> read_layer(text::LittleEndianCursor& header,
                                             std::size_t layer_bytes) {
  Layer layer;
  layer.bytes = header.take<std::uint64_t>();
  const auto stored_bits = header.take<std::uint64_t>();
  layer.items = header.take<std::uint64_t>();
  header.skip(2 * sizeof(double));
  layer.hashes = header.take<std::uint32_t>();
  header.skip(layer_bytes == kLayerBytes ? sizeof(std::uint64_t) : sizeof(std::uint32_t));
  const auto n2 = header.take<std::uint8_t>();
  if (auto why = refuse(layer, stored_bits, n2)) {
    return std::unexpected(*std::move(why));
  }
  layer.bits = n2 > 0 ? std::uint64_t{1} << n2 : stored_bits;
  return layer;
}

std::expected<Chain, std::string> read_chain(std::string_view bytes) {
  text::LittleEndianCursor header(bytes);
  Chain chain{.items = header.take<std::uint64_t>(), .seed = kSeed, .layers = {}};
  const std::size_t layers = header.take<std::uint32_t>();
  const auto options = header.take<std::uint32_t>();
  header.skip(sizeof(std::uint32_t));
  if (!header.ok()) {
    return std::unexpected(
        fmt::format("begins with {} bytes, but has {}", kChainBytes, bytes.size()));
  }
  if ((options & ~kOptions) != 0) {
    return std::unexpected(fmt::format("has unknown options ({})", options));
  }
  if ((options & kHashes64) == 0) {
    return std::unexpected("uses 32-bit hashes of early versions, which are not supported");
  }
  const std::size_t ends = kChainBytes + ((options & kHasSeed) != 0 ? kSeedBytes : 0);
  if (layers == 0 || layers > kLayersMax ||
      (bytes.size() != ends + layers * kLayerBytes &&
       bytes.size() != ends + layers * kOldLayerBytes)) {
    return std::unexpected(fmt::format("announces {} layers in {} bytes", layers, bytes.size()));
  }
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < layers; ++i) {
    auto layer = read_layer(header, (bytes.size() - ends) / layers);
    if (!layer) {
      return std::unexpected(fmt::format("has a layer {} with {}", i, layer.error()));
    }
    items += layer->items;
    chain.layers.push_back(*layer);
  }
  if (items != chain.items) {
    return std::unexpected(
        fmt::format("announces {} items, but its layers have {}", chain.items, items));
  }
  if ((options & kHasSeed) != 0) {
    chain.seed = header.take<std::uint64_t>();
  }
  return chain;
}

class RedisBloomFilter final : public Filter {
 public:
  RedisBloomFilter(const Chain& chain, std::string data)
      : data_(std::move(data)), seed_(chain.seed) {
    facts_ = {.format = "redisbloom", .bytes = data_.size(), .items = chain.items};
    std::string_view left = data_;
    double none = 1;
    std::uint64_t all_set = 0;
    for (const Layer& layer : chain.layers) {
      const BitArray bits(left.substr(0, layer.bytes), BitOrder::lowest_first);
      left.remove_prefix(layer.bytes);
      layers_.push_back({.array = bits, .bits = layer.bits, .hashes = layer.hashes});
      const std::uint64_t set = bits.count();
      all_set += set;
      facts_.bits_or_slots += layer.bits;
      facts_.hashes = std::max(facts_.hashes, layer.hashes);
      none *= 1 - bloom_false_positive_rate(set, layer.bits, layer.hashes);
    }
    // Those that no item can have are not set, but nobody vouches for it.
    all_set = std::min(all_set, facts_.bits_or_slots);
    facts_.fill = static_cast<double>(all_set) / static_cast<double>(facts_.bits_or_slots);
    facts_.false_positive_rate = 1 - none;
  }

  bool may_contain(std::string_view item) const noexcept override {
    const std::uint64_t first = murmur_hash_64a(item, seed_);
    const std::uint64_t step = murmur_hash_64a(item, first);
    return std::ranges::any_of(layers_,
                               [&](const Positions& layer) { return has_all(layer, first, step); });
  }

  Facts facts() const noexcept override { return facts_; }

 private:
  struct Positions {
    BitArray array;
    std::uint64_t bits;
    std::uint32_t hashes;
  };

  static bool has_all(const Positions& layer, std::uint64_t position, std::uint64_t step) {
    for (std::uint32_t i = 0; i < layer.hashes; ++i) {
      if (!layer.array.has(position % layer.bits)) {
        return false;
      }
      position += step;
    }
    return true;
  }

  std::string data_;
  std::uint64_t seed_;
  std::vector<Positions> layers_;
  Facts facts_;
};

}  // namespace

FilterOrWhyNot read_redisbloom_bloom(std::string_view header, std::string data) {
  const auto chain = read_chain(header);
  if (!chain) {
    return std::unexpected("the header of BF.SCANDUMP " + chain.error());
  }
  std::uint64_t left = data.size();
  for (const Layer& layer : chain->layers) {
    if (layer.bytes > left) {
      return std::unexpected(fmt::format(
          "the BF.SCANDUMP is incomplete: its {} bytes of data are fewer than its layers'",
          data.size()));
    }
    left -= layer.bytes;
  }
  if (left != 0) {
    return std::unexpected(fmt::format(
        "the BF.SCANDUMP has {} bytes, more than its layers': the filter grew during the dump",
        left));
  }
  return std::make_unique<RedisBloomFilter>(*chain, std::move(data));
}

constexpr Format kRedisBloom{
    .name = "redisbloom", .kept = Format::Kept::by_bloom_dump, .read_dump = read_redisbloom_bloom};

}  // namespace cuckooguard::foreign
