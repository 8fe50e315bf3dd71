#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "foreign/formats/items.h"
#include "foreign/formats/little_endian_writer.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {
namespace {

using namespace testing;

struct Options {
  std::uint64_t capacity = 64;
  std::uint16_t slots = 2;
  std::uint16_t iterations = 20;
  std::uint16_t expansion = 1;
  std::optional<std::uint64_t> seed;  // in the header, as newer versions have it
};

// CF.RESERVE and CF.ADD, as RedisBloom's documentation and tests describe them: into a free slot of
// either bucket, the newest layer first; else others are moved within the newest layer, back again
// if that leads nowhere, and a layer is added.
class Made {
 public:
  explicit Made(const Options& options)
      : options_(options), buckets_(std::bit_ceil(options.capacity / options.slots)) {
    grow();
  }

  void add(std::string_view item) {
    const std::uint64_t hash = murmur_hash_64a(item, options_.seed.value_or(0));
    const char fingerprint = static_cast<char>(hash % 255 + 1);
    ++items_;
    while (!put_anywhere(hash, fingerprint) && !put_by_moving(hash, fingerprint)) {
      grow();
    }
  }

  bool has(std::string_view item) const {
    const std::uint64_t hash = murmur_hash_64a(item, options_.seed.value_or(0));
    const char fingerprint = static_cast<char>(hash % 255 + 1);
    return std::ranges::any_of(layers_, [&](const std::string& layer) {
      return bucket(layer, hash).contains(fingerprint) ||
             bucket(layer, other(hash, fingerprint)).contains(fingerprint);
    });
  }

  std::string header() const {
    LittleEndianWriter to;
    to.put<std::uint64_t>(items_)
        .put<std::uint64_t>(buckets_)
        .put<std::uint64_t>(3)
        .put<std::uint64_t>(layers_.size() |
                            (options_.seed ? std::uint64_t{1} << 63U : std::uint64_t{0}))
        .put<std::uint16_t>(options_.slots)
        .put<std::uint16_t>(options_.iterations)
        .put<std::uint16_t>(options_.expansion);
    if (options_.seed) {
      to.put<std::uint64_t>(*options_.seed);
    }
    return to.bytes();
  }

  std::string data() const {
    std::string all;
    for (const std::string& layer : layers_) {
      all += layer;
    }
    return all;
  }

  std::size_t layers() const { return layers_.size(); }

 private:
  static std::uint64_t other(std::uint64_t hash, char fingerprint) {
    return hash ^ (std::uint64_t{static_cast<unsigned char>(fingerprint)} * 0x5bd1e995);
  }

  std::size_t place(const std::string& layer, std::uint64_t hash) const {
    return hash % (layer.size() / options_.slots) * options_.slots;
  }
  std::string_view bucket(const std::string& layer, std::uint64_t hash) const {
    return std::string_view(layer).substr(place(layer, hash), options_.slots);
  }

  void grow() {
    std::uint64_t buckets = buckets_;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      buckets *= options_.expansion;
    }
    layers_.emplace_back(buckets * options_.slots, '\0');
  }

  bool put(std::string& layer, std::uint64_t hash, char fingerprint) {
    const std::size_t free = bucket(layer, hash).find('\0');
    if (free == std::string_view::npos) {
      return false;
    }
    layer[place(layer, hash) + free] = fingerprint;
    return true;
  }

  bool put_anywhere(std::uint64_t hash, char fingerprint) {
    return std::any_of(layers_.rbegin(), layers_.rend(), [&](std::string& layer) {
      return put(layer, hash, fingerprint) || put(layer, other(hash, fingerprint), fingerprint);
    });
  }

  bool put_by_moving(std::uint64_t hash, char fingerprint) {
    std::string moved = layers_.back();
    for (int i = 0; i < options_.iterations; ++i) {
      std::swap(moved[place(moved, hash) + static_cast<std::size_t>(i % options_.slots)],
                fingerprint);
      hash = other(hash % (moved.size() / options_.slots), fingerprint);
      if (put(moved, hash, fingerprint)) {
        layers_.back() = std::move(moved);
        return true;
      }
    }
    return false;
  }

  Options options_;
  std::uint64_t buckets_;
  std::uint64_t items_ = 0;
  std::vector<std::string> layers_;
};

Made with_numbers(const Options& options, int count = 1000) {
  Made made(options);
  for (int i = 0; i < count; ++i) {
    made.add(std::to_string(i));
  }
  return made;
}

// RedisBloom's tests/flow/test_cuckoo, test_bucket_size and test_expansion: how many layers "0" to
// "999" take depends on where each of them goes. So the writer here places them as RedisBloom does.
TEST(RedisBloomCuckoo, the_writer_of_this_test_grows_as_redisbloom_does) {
  EXPECT_EQ(with_numbers({.capacity = 64, .slots = 1}).layers(), 18);
  EXPECT_EQ(with_numbers({.capacity = 64}).layers(), 17);
  EXPECT_EQ(with_numbers({.capacity = 256, .slots = 4, .iterations = 500}).layers(), 4);
  EXPECT_EQ(with_numbers({.capacity = 64, .expansion = 2}).layers(), 5);
  EXPECT_EQ(with_numbers({.capacity = 64, .iterations = 500, .expansion = 4}).layers(), 3);
}

void expect_made_agrees(const Options& options) {
  Made made(options);
  for (int i = 0; i < kMembers; ++i) {
    made.add(member(i));
  }
  const auto filter = read_redisbloom_cuckoo(made.header(), made.data());
  ASSERT_TRUE(filter) << filter.error();
  expect_agrees_at_its_rate(**filter, [&](std::string_view item) { return made.has(item); });
  const Facts facts = (*filter)->facts();
  EXPECT_EQ(facts.format, "redisbloom-cuckoo");
  EXPECT_EQ(facts.items, kMembers);
  EXPECT_EQ(facts.bits_or_slots, made.data().size());
  EXPECT_NEAR(
      facts.fill, static_cast<double>(kMembers) / static_cast<double>(made.data().size()), 1e-9);
}

TEST(RedisBloomCuckoo, agrees_with_its_definition) {
  expect_made_agrees({.capacity = 16'384});
  expect_made_agrees({.capacity = 16'384, .seed = 0});
  expect_made_agrees({.capacity = 16'384, .seed = 0x1'0000'0000});
  expect_made_agrees({.capacity = 2048, .slots = 4, .expansion = 2});
  expect_made_agrees({.capacity = 1024, .slots = 1, .expansion = 1});
}

TEST(RedisBloomCuckoo, what_is_not_whole_is_refused) {
  for (const Options& options : {Options{.capacity = 16}, Options{.capacity = 16, .seed = 5}}) {
    const Made made = with_numbers(options, 60);
    const std::string header = made.header();
    const std::string data = made.data();
    expect_every_prefix_refused(
        header, [&](std::string bytes) { return read_redisbloom_cuckoo(bytes, data); });
    expect_every_prefix_refused(
        data, [&](std::string bytes) { return read_redisbloom_cuckoo(header, std::move(bytes)); });
    expect_refused(read_redisbloom_cuckoo(header + '\0', data), "or 46 with a seed");
    expect_refused(read_redisbloom_cuckoo(header, data + '\0'), "grew during the dump");
    expect_refused(read_redisbloom_cuckoo(header, data.substr(1)), "is incomplete");
  }
}

TEST(RedisBloomCuckoo, a_filter_that_changed_while_it_was_dumped_is_refused) {
  Made made = with_numbers({.capacity = 64}, 20);
  const std::string header = made.header();
  made.add("another");
  expect_refused(read_redisbloom_cuckoo(header, made.data()),
                 "announces 20 items, but its data has 21: the filter changed");
}

TEST(RedisBloomCuckoo, an_absurd_header_is_refused) {
  const Made made = with_numbers({.capacity = 16}, 60);
  const auto with = [&](std::size_t at, std::string_view bytes) {
    std::string header = made.header();
    header.replace(at, bytes.size(), bytes);
    return read_redisbloom_cuckoo(header, made.data());
  };
  const std::string zeros(8, '\0');
  expect_refused(with(8, zeros), "0 buckets");
  expect_refused(with(8, "\x09"), "9 buckets, not a power of two");
  expect_refused(with(8, std::string(7, '\0') + '\x80'), "is incomplete");
  expect_refused(with(24, zeros), "0 layers");
  expect_refused(with(24, "\xFF\xFF"), "is incomplete");
  expect_refused(with(24, std::string("\0\0\1", 3)), "65536 layers");
  expect_refused(with(32, std::string(2, '\0')), "0 slots");
  expect_refused(with(32, "\xFF\xFF"), "65535 slots");
  expect_refused(with(36, std::string(2, '\0')), "grow by 0");
}

TEST(RedisBloomCuckoo, any_bytes_are_refused_or_a_filter) {
  const Made made = with_numbers({.capacity = 16, .seed = 5}, 60);
  expect_survives_any_change(
      made.header(), [&](std::string bytes) { return read_redisbloom_cuckoo(bytes, made.data()); });
  expect_survives_any_change(made.data(), [&](std::string bytes) {
    return read_redisbloom_cuckoo(made.header(), std::move(bytes));
  });
}

}  // namespace
}  // namespace cuckooguard::foreign
