#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "foreign/formats/items.h"
#include "foreign/formats/little_endian_writer.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {
namespace {

using namespace testing;

constexpr std::uint64_t kNoSeed = 0xC6A4A7935BD1E995;

struct Options {
  double error = 0.01;
  std::uint64_t capacity = 100;
  std::optional<std::uint64_t> seed;  // in the header, as newer versions have it
  bool rounded = false;               // to a power of two, as older versions do
};

// BF.RESERVE and BF.ADD, as RedisBloom's documentation and tests describe them: a layer that is
// full is followed by one of twice its capacity and half its error; the first has half of what is
// asked.
class Made {
 public:
  struct Layer {
    std::uint64_t capacity = 0;
    double error = 0;
    double bits_per_item = 0;
    std::uint32_t hashes = 0;
    std::uint8_t n2 = 0;
    std::uint64_t items = 0;
    std::string bytes;
  };

  explicit Made(const Options& options) : options_(options) {
    grow(options.capacity, options.error / 2);
  }

  void add(std::string_view item) {
    if (has(item)) {
      return;
    }
    if (layers_.back().items >= layers_.back().capacity) {
      grow(layers_.back().capacity * 2, layers_.back().error / 2);
    }
    Layer& layer = layers_.back();
    for (const std::uint64_t bit : bits(layer, item)) {
      layer.bytes[bit / 8] |= static_cast<char>(1 << (bit % 8));
    }
    ++layer.items;
  }

  bool has(std::string_view item) const {
    return std::ranges::any_of(layers_, [&](const Layer& layer) {
      return std::ranges::all_of(bits(layer, item), [&](std::uint64_t bit) {
        return (layer.bytes[bit / 8] & (1 << (bit % 8))) != 0;
      });
    });
  }

  std::uint64_t items() const {
    std::uint64_t all = 0;
    for (const Layer& layer : layers_) {
      all += layer.items;
    }
    return all;
  }

  std::string header(bool old = false, std::uint32_t flags = 4) const {
    LittleEndianWriter to;
    to.put<std::uint64_t>(items())
        .put<std::uint32_t>(static_cast<std::uint32_t>(layers_.size()))
        .put<std::uint32_t>(flags | (options_.rounded ? 0U : 1U) | (options_.seed ? 1U << 31U : 0U))
        .put<std::uint32_t>(2);
    for (const Layer& layer : layers_) {
      to.put<std::uint64_t>(layer.bytes.size())
          .put<std::uint64_t>(layer.bytes.size() * 8)
          .put<std::uint64_t>(layer.items)
          .put(layer.error)
          .put(layer.bits_per_item)
          .put<std::uint32_t>(layer.hashes);
      if (old) {
        to.put<std::uint32_t>(static_cast<std::uint32_t>(layer.capacity));
      } else {
        to.put<std::uint64_t>(layer.capacity);
      }
      to.put<std::uint8_t>(layer.n2);
    }
    if (options_.seed) {
      to.put<std::uint64_t>(*options_.seed);
    }
    return to.bytes();
  }

  std::string data() const {
    std::string all;
    for (const Layer& layer : layers_) {
      all += layer.bytes;
    }
    return all;
  }

  const std::vector<Layer>& layers() const { return layers_; }

 private:
  void grow(std::uint64_t capacity, double error) {
    Layer layer{.capacity = capacity, .error = error};
    const double ln2 = std::log(2.0);
    layer.bits_per_item = -std::log(error) / (ln2 * ln2);
    layer.hashes = static_cast<std::uint32_t>(std::ceil(ln2 * layer.bits_per_item));
    auto bits = static_cast<std::uint64_t>(static_cast<double>(capacity) * layer.bits_per_item);
    if (options_.rounded) {
      layer.n2 = static_cast<std::uint8_t>(std::bit_width(bits));
      bits = std::uint64_t{1} << layer.n2;
    }
    layer.bytes.resize((bits + 63) / 64 * 8);
    layers_.push_back(std::move(layer));
  }

  std::vector<std::uint64_t> bits(const Layer& layer, std::string_view item) const {
    const std::uint64_t a = murmur_hash_64a(item, options_.seed.value_or(kNoSeed));
    const std::uint64_t b = murmur_hash_64a(item, a);
    const std::uint64_t count =
        options_.rounded ? std::uint64_t{1} << layer.n2 : layer.bytes.size() * 8;
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < layer.hashes; ++i) {
      all.push_back((a + i * b) % count);
    }
    return all;
  }

  Options options_;
  std::vector<Layer> layers_;
};

Made with_numbers(double error, std::uint64_t capacity, int count) {
  Made made({.error = error, .capacity = capacity});
  for (int i = 0; i < count; ++i) {
    made.add(std::to_string(i));
  }
  return made;
}

// RedisBloom's tests/flow/test_overall, test_debug: how many of "0", "1" ... each layer took
// depends on which of them were false positives. So the writer here places bits as RedisBloom does.
TEST(RedisBloomBloom, the_writer_of_this_test_fills_layers_as_redisbloom_does) {
  const auto fills = [](const Made& made) {
    std::vector<std::vector<std::uint64_t>> all;
    for (const auto& layer : made.layers()) {
      all.push_back({layer.bytes.size(), layer.hashes, layer.capacity, layer.items});
    }
    return all;
  };
  EXPECT_EQ(fills(with_numbers(0.01, 10, 100)),
            (std::vector<std::vector<std::uint64_t>>{
                {16, 8, 10, 10}, {32, 9, 20, 20}, {72, 10, 40, 40}, {160, 11, 80, 29}}));
  EXPECT_EQ(fills(with_numbers(0.001, 100, 4000)),
            (std::vector<std::vector<std::uint64_t>>{{200, 11, 100, 100},
                                                     {432, 12, 200, 200},
                                                     {936, 13, 400, 400},
                                                     {2016, 14, 800, 800},
                                                     {4320, 15, 1600, 1600},
                                                     {9216, 16, 3200, 897}}));
}

void expect_made_agrees(const Options& options, bool old) {
  Made made(options);
  for (int i = 0; i < kMembers; ++i) {
    made.add(member(i));
  }
  const auto filter = read_redisbloom_bloom(made.header(old), made.data());
  ASSERT_TRUE(filter) << filter.error();
  expect_agrees_at_its_rate(**filter, [&](std::string_view item) { return made.has(item); });
  const Facts facts = (*filter)->facts();
  EXPECT_EQ(facts.format, "redisbloom");
  EXPECT_FALSE((*filter)->add(other(0))) << "it is only read";
  EXPECT_EQ((*filter)->bytes(), "");
  EXPECT_EQ(facts.items, made.items());
  EXPECT_EQ(facts.bytes, made.data().size());
  EXPECT_EQ(facts.hashes, made.layers().back().hashes);
}

TEST(RedisBloomBloom, agrees_with_its_definition) {
  expect_made_agrees({.error = 0.05, .capacity = 12'000}, false);
  expect_made_agrees({.error = 0.05, .capacity = 500}, false);  // five layers
  expect_made_agrees({.error = 0.05, .capacity = 500}, true);
  expect_made_agrees({.error = 0.05, .capacity = 500, .seed = 0}, false);
  expect_made_agrees({.error = 0.05, .capacity = 500, .seed = ~std::uint64_t{0}}, false);
  expect_made_agrees({.error = 0.05, .capacity = 500, .rounded = true}, true);
}

// 8 bits, in a word of 64. Positions are all over so few in short circles: more others pass than
// the rate says.
TEST(RedisBloomBloom, agrees_where_a_layer_is_less_than_a_word) {
  Made made({.error = 0.05, .capacity = 1, .rounded = true});
  for (int i = 0; i < kMembers; ++i) {
    made.add(member(i));
  }
  ASSERT_EQ(made.layers().front().n2, 3);
  const auto filter = read_redisbloom_bloom(made.header(), made.data());
  ASSERT_TRUE(filter) << filter.error();
  expect_agrees(**filter, [&](std::string_view item) { return made.has(item); });
}

TEST(RedisBloomBloom, the_seed_that_is_none_may_be_said) {
  Made seeded({.error = 0.01, .capacity = 100, .seed = kNoSeed});
  Made unseeded({.error = 0.01, .capacity = 100});
  for (int i = 0; i < 100; ++i) {
    seeded.add(member(i));
    unseeded.add(member(i));
  }
  ASSERT_EQ(seeded.data(), unseeded.data());
  ASSERT_EQ(seeded.header().size(), unseeded.header().size() + 8);
  const auto filter = read_redisbloom_bloom(seeded.header(), seeded.data());
  ASSERT_TRUE(filter) << filter.error();
  EXPECT_TRUE((*filter)->may_contain(member(99)));
}

TEST(RedisBloomBloom, what_is_not_whole_is_refused) {
  const Made made = with_numbers(0.01, 10, 60);
  const std::string header = made.header();
  const std::string data = made.data();
  expect_every_prefix_refused(
      header, [&](std::string bytes) { return read_redisbloom_bloom(bytes, data); });
  expect_every_prefix_refused(
      data, [&](std::string bytes) { return read_redisbloom_bloom(header, std::move(bytes)); });
  expect_refused(read_redisbloom_bloom(header + '\0', data), "layers in");
  expect_refused(read_redisbloom_bloom(header, data + '\0'), "grew during the dump");
  expect_refused(read_redisbloom_bloom(header, data.substr(1)), "is incomplete");
  expect_refused(read_redisbloom_bloom(made.header(false, 0), data), "uses 32-bit hashes");
  expect_refused(read_redisbloom_bloom(made.header(false, 4 | 16), data), "unknown");
}

TEST(RedisBloomBloom, an_absurd_header_is_refused) {
  const Made made = with_numbers(0.01, 10, 5);
  const auto with = [&](std::size_t at, std::string_view bytes) {
    std::string header = made.header();
    header.replace(at, bytes.size(), bytes);
    return read_redisbloom_bloom(header, made.data());
  };
  constexpr std::string_view kAll = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
  expect_refused(with(0, kAll), "but its layers have 5");
  expect_refused(with(8, kAll.substr(0, 4)), "4294967295 layers");
  expect_refused(with(20, kAll), "layer 0 with 128 bits in");
  expect_refused(with(28, kAll), "bits in 16 bytes");
  expect_refused(with(60, kAll.substr(0, 4)), "4294967295 bits per item");
  expect_refused(with(60, std::string(4, '\0')), "0 bits per item");
  expect_refused(with(72, "\x08"), "2^8 of 128 bits");
  expect_refused(with(72, "\x40"), "2^64");
}

TEST(RedisBloomBloom, any_bytes_are_refused_or_a_filter) {
  const Made made = with_numbers(0.01, 10, 60);
  expect_survives_any_change(
      made.header(), [&](std::string bytes) { return read_redisbloom_bloom(bytes, made.data()); });
  expect_survives_any_change(made.data(), [&](std::string bytes) {
    return read_redisbloom_bloom(made.header(), std::move(bytes));
  });
}

}  // namespace
}  // namespace cuckooguard::foreign
