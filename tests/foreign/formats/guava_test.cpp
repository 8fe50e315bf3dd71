#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "foreign/formats/items.h"
#include "formats/bitmap_filter.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {
namespace {

using namespace testing;

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

// Written by Guava 31.1, and what it says of the items 100 to 999: tests/foreign/GuavaFiles.java,
// where the command stands.
struct Golden {
  Strategy strategy;
  Funnel funnel;
  std::string_view file;
  std::set<int> false_positives;
};
const std::vector<Golden> kGolden{
    {Strategy::murmur128_mitz_32,
     Funnel::utf8,
     "00070000000f6ab8d279851a3de4f7a7571d2cadec40c1f8c4b314edb73a00626a38171f7f9e6f94"
     "e806c46f763326bdb0729ba27670a9cbbcfa4b6d35c35205590974d9967440e5775b8fb00fd01a90"
     "cb6d30dc8365e5f74f9b3ca1190c48e4764cfe40d952fe160e8e8a579135ab99e5e6daa661e52689"
     "3ef945dd9c2c",
     {151, 219, 385, 467, 556, 577, 704, 715, 753, 833}},
    {Strategy::murmur128_mitz_32,
     Funnel::java_long,
     "00070000000f318dd795b4dc16036beaa36f3587dc95ef7f3dd6d4d467f06021b87ad00f9b615af7"
     "ace526e1b03910cf466bb140262ab072c9eb6068c14b869c6744a5687c4d452bca4d02926d8bd474"
     "ec4c6f374b677bbd75b7ddd13c6afc1ab7b4c90b390f667af779ded4f3868bd46bed8a4466139b05"
     "6a1d5e3df302",
     {217, 237, 596, 725, 751, 787, 802, 937, 990}},
    {Strategy::murmur128_mitz_64,
     Funnel::utf8,
     "01070000000f5c2925ae47661284a597cb61cdcf855a29928cf07c743002fb878ead68c98fe01db8"
     "2bad6f2e63b4f9abdc641bee493227079c6c207e2791bb9112b30cfcb14e8dee8a758ca9df9d78ac"
     "45af055a365e0be7dd4d6b9534dbbc87cf94f02048afe5d5701fbe7dde7db7f15ee8287a391f3011"
     "0a533bcd0cdf",
     {771, 821, 842, 877, 904}},
    {Strategy::murmur128_mitz_64,
     Funnel::java_long,
     "01070000000f901654488faba975c904404559fcd4a86b3cf9e27913a73469b4272f3b36b77a9e3f"
     "28a49774bf6672d903b6459627c49f1c9307fbcfe4bb909eb181c0316233ee020b21439e8f4b6f6e"
     "4e9f832cbe5faea0587eeb36e8e8973de4f392cfb2c47d504941b5dd7ab8f41df61d2672ad663b72"
     "b742b3ed9aef",
     {260, 279, 724, 728, 751, 778, 931}},
};

std::string golden_item(Funnel funnel, int i) {
  return funnel == Funnel::utf8 ? "user:" + std::to_string(i)
                                : std::to_string(std::int64_t{i} * 1'000'003 - 50);
}

TEST(Guava, files_of_the_library_say_what_it_says) {
  for (const Golden& golden : kGolden) {
    const auto filter = read_guava(bytes_of(golden.file), golden.funnel);
    ASSERT_TRUE(filter) << filter.error();
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ((*filter)->may_contain(golden_item(golden.funnel, i)),
                i < 100 || golden.false_positives.contains(i))
          << i;
    }
    const Facts facts = (*filter)->facts();
    EXPECT_EQ(facts.format, "guava");
    EXPECT_EQ(facts.bits_or_slots, 960);
    EXPECT_EQ(facts.bytes, 120);
    EXPECT_EQ(facts.hashes, 7);
    EXPECT_NEAR(facts.false_positive_rate, 0.01, 0.005);
  }
}

// In Java's own arithmetic, as the library's documentation of both strategies has it.
std::vector<std::uint64_t> offsets(Hash128 hash, Shape shape, Strategy strategy) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < shape.hashes; ++i) {
    if (strategy == Strategy::murmur128_mitz_64) {
      all.push_back((hash.low + i * hash.high) % (std::uint64_t{1} << 63U) % shape.bits);
      continue;
    }
    const auto combined =
        static_cast<std::int32_t>(hash.low + (i + 1) * (hash.low >> 32U) % (1ULL << 32U));
    all.push_back(static_cast<std::uint64_t>(combined < 0 ? -(combined + 1) : combined) %
                  shape.bits);
  }
  return all;
}

TEST(GuavaBitmap, agrees_with_its_definition) {
  for (const auto strategy : {Strategy::murmur128_mitz_32, Strategy::murmur128_mitz_64}) {
    for (const Shape shape :
         {Shape{.bits = 72'984, .hashes = 5}, Shape{.bits = 65'521, .hashes = 3}}) {
      const auto places = [&](std::string_view item) {
        return offsets(Murmur3X64(item).hash(), shape, strategy);
      };
      RedisBitmap bitmap;
      for (int i = 0; i < kMembers; ++i) {
        std::ranges::for_each(places(member(i)), [&](std::uint64_t at) { bitmap.set(at); });
      }
      const GuavaBitmap how{.shape = shape, .strategy = strategy, .funnel = Funnel::utf8};
      const auto added = read_guava_bitmap("", how).value();
      EXPECT_EQ(add_members(*added), 0);
      EXPECT_EQ(added->bytes(), bitmap.bytes());
      const auto filter = read_guava_bitmap(bitmap.bytes(), how);
      ASSERT_TRUE(filter) << filter.error();
      EXPECT_EQ((*filter)->facts().format, "guava-bitmap");
      expect_agrees_at_its_rate(**filter, [&](std::string_view item) {
        return std::ranges::all_of(places(item), [&](std::uint64_t at) { return bitmap.get(at); });
      });
    }
  }
}

// What create(funnel, 100, 0.01) made, with these 100 items put in.
TEST(Guava, what_is_made_and_added_is_what_the_library_writes) {
  const Shape shape = guava_shape(100, 0.01).value();
  for (const Golden& golden : kGolden) {
    // Of the older strategy create() makes none today: its file without its bits.
    const std::string file = bytes_of(golden.file);
    auto filter =
        golden.strategy == Strategy::murmur128_mitz_64
            ? make_guava(shape, golden.funnel).value()
            : read_guava(file.substr(0, 6) + std::string(120, '\0'), golden.funnel).value();
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(filter->add(golden_item(golden.funnel, i)));
    }
    EXPECT_EQ(filter->bytes(), file);
  }
}

TEST(Guava, what_is_made_for_items_at_a_rate_has_it) {
  for (const double rate : {0.03, 0.001}) {
    const auto filter = make_guava(guava_shape(kMembers, rate).value(), Funnel::utf8).value();
    EXPECT_EQ(add_members(*filter), 0);
    EXPECT_NEAR(filter->facts().false_positive_rate, rate, rate / 10);
    const auto read = read_guava(filter->bytes(), Funnel::utf8).value();
    expect_agrees_at_its_rate(*filter,
                              [&](std::string_view item) { return read->may_contain(item); });
  }
}

TEST(Guava, what_create_refuses_is_refused) {
  EXPECT_EQ(guava_shape(100, 0.01)->bits, 958);
  EXPECT_EQ(guava_shape(100, 0.01)->hashes, 7);
  EXPECT_EQ(guava_shape(0, 0.01)->bits, 9) << "as of one item";
  EXPECT_EQ(guava_shape(1000, 0.9)->hashes, 1) << "0.15 rounds to none";
  for (const double rate : {0.0, 1.0, -0.1, std::nan("")}) {
    EXPECT_FALSE(guava_shape(100, rate)) << rate;
  }
  EXPECT_FALSE(guava_shape(-5, 0.01));
  EXPECT_FALSE(guava_shape(1, 0.99)) << "no bit";
  EXPECT_FALSE(guava_shape(std::numeric_limits<std::int64_t>::max(), 0.01));
  EXPECT_TRUE(make_guava({.bits = 1, .hashes = 255}, Funnel::utf8));
  expect_refused(make_guava({.bits = 1, .hashes = 256}, Funnel::utf8), "1 and 256 are configured");
  expect_refused(make_guava({.bits = std::uint64_t{1} << 37U, .hashes = 1}, Funnel::utf8),
                 "2147483648 and 1 are configured");
}

TEST(Guava, what_is_no_long_is_not_added) {
  const auto filter = make_guava({.bits = 64, .hashes = 7}, Funnel::java_long).value();
  const std::string empty = filter->bytes();
  for (const auto* item : {"", "seven", "7.0", "9223372036854775808"}) {
    EXPECT_FALSE(filter->add(item)) << item;
  }
  EXPECT_EQ(filter->bytes(), empty);
  EXPECT_TRUE(filter->add("-7"));
  EXPECT_TRUE(filter->may_contain("-7"));
}

// 31 bits choose a bit: those behind them are never an item's.
TEST(GuavaBitmap, rate_counts_only_bits_that_32_bit_hashes_reach) {
  GuavaBitmap made{.shape = {.bits = kRedisBitsMax, .hashes = 1}};
  const std::string some(1, '\x80');
  const double reached = read_guava_bitmap(some, made).value()->facts().false_positive_rate;
  made.strategy = Strategy::murmur128_mitz_64;
  EXPECT_DOUBLE_EQ(reached, 2 * read_guava_bitmap(some, made).value()->facts().false_positive_rate);
}

// Nobody knows of what bytes an item is that is none: it may have been put in.
TEST(Guava, a_long_is_read_as_java_reads_it_and_whatever_is_none_may_be_in_it) {
  const auto none =
      read_guava(std::string("\1\1\0\0\0\1", 6) + std::string(8, '\0'), Funnel::java_long);
  ASSERT_TRUE(none);
  for (const auto* item :
       {"0", "7", "-7", "+7", "007", "-0", "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_FALSE((*none)->may_contain(item)) << item;
  }
  for (const auto* item :
       {"", "-", "+", "+-7", "--7", " 7", "7 ", "7.0", "0x7", "seven", "9223372036854775808"}) {
    EXPECT_TRUE((*none)->may_contain(item)) << item;
  }
  const auto& golden = kGolden[3];
  const auto some = read_guava(bytes_of(golden.file), golden.funnel);
  EXPECT_TRUE((*some)->may_contain("+00999953"));
}

TEST(Guava, what_is_no_whole_file_is_refused) {
  const std::string file = bytes_of(kGolden[2].file);
  const auto read = [](std::string bytes) { return read_guava(std::move(bytes), Funnel::utf8); };
  expect_every_prefix_refused(file, read);
  expect_refused(read(file + '\0'), "incomplete");
  expect_refused(read('\2' + file.substr(1)), "the first byte is 2");
  expect_refused(read(file.substr(0, 1) + '\0' + file.substr(2)), "no bits");
  expect_refused(read(std::string("\1\7\0\0\0\0", 6)), "incomplete");
  expect_refused(read(std::string("\1\7\xFF\xFF\xFF\xFF", 6) + std::string(64, 'x')), "incomplete");
  expect_survives_any_change(file, read);
}

TEST(GuavaBitmap, another_shape_is_refused) {
  // Of 100 items, some have bits in the last half.
  expect_refused(read_guava_bitmap(std::string(40, 'U'), {.shape = {.bits = 640, .hashes = 1}}),
                 "created with fewer bits");
  EXPECT_TRUE(read_guava_bitmap("\x04", {.shape = {.bits = 640, .hashes = 1}}))
      << "of a few, none need be there";
  expect_refused(read_guava_bitmap("12", {.shape = {.bits = 8, .hashes = 3}}), "bytes, more than ");
  expect_refused(read_guava_bitmap("1", {.shape = {.bits = 8, .hashes = 0}}), "0 are configured");
  expect_survives_any_change(std::string(40, 'U'), [](std::string bytes) {
    return read_guava_bitmap(std::move(bytes), {.shape = {.bits = 320, .hashes = 3}});
  });
}

}  // namespace
}  // namespace cuckooguard::foreign
