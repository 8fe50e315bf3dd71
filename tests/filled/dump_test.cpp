#include "filled/dump.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/dump_reader.h"
#include "filled/forged_dump.h"
#include "filled/hashes.h"

namespace cuckooguard::filled {
namespace {

using filter::FilterFileOrigin;
using testing::forged;
using testing::ForgedLayer;
using testing::hash_of;

const filter::HashSecret kSecret{};

std::shared_ptr<FilledFilter> some(const Shape& shape) {
  auto filter = std::make_shared<FilledFilter>(shape, kSecret);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    if (filter->is_full()) {
      filter = filter->grown();
    }
    filter->add(hash_of(i));
  }
  return filter;
}

TEST(Dump, is_read_back_with_all_that_is_known_of_the_filter) {
  for (const Shape& shape : {Shape{.kind = Kind::bloom, .capacity = 500},
                             Shape{.kind = Kind::cuckoo, .capacity = 500},
                             Shape{.kind = Kind::cuckoo, .capacity = 500, .exact = true}}) {
    const auto filter = some(shape);
    const std::string dump = dump_of(*filter);
    EXPECT_EQ(bytes_of_dump(dump), dump.size());
    const auto read = read_dump(dump, kSecret);
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ((*read)->shape(), shape);
    EXPECT_EQ((*read)->facts().items, 3000U);
    EXPECT_EQ((*read)->layers().size(), filter->layers().size());
    for (std::uint64_t i = 0; i < 6000; ++i) {
      ASSERT_EQ((*read)->may_contain(hash_of(i)), filter->may_contain(hash_of(i))) << i;
    }
    EXPECT_EQ(dump_of(**read), dump);
  }
}

TEST(Dump, of_which_a_byte_differs_is_none) {
  const std::string dump = dump_of(*some({.kind = Kind::cuckoo, .capacity = 5000}));
  for (std::size_t at = 0; at < dump.size(); at += 97) {
    std::string damaged = dump;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_FALSE(read_dump(damaged, kSecret).has_value()) << at;
    EXPECT_FALSE(read_dump(std::string_view(dump).substr(0, at), kSecret).has_value()) << at;
  }
}

// Its checksum is nobody's secret: what a client has made up must not be taken for a filter.
TEST(Dump, whose_layers_do_not_fit_its_shape_is_none) {
  const auto with = [](const Shape& claimed, const Shape& made) {
    const auto filter = some(made);
    const FilledFilter forged(claimed, filter->layers(), 1, 0);
    return read_dump(dump_of(forged), kSecret).has_value();
  };
  const Shape bloom{.capacity = 500};
  const Shape cuckoo{.kind = Kind::cuckoo, .capacity = 500};
  const Shape exact{.kind = Kind::cuckoo, .capacity = 500, .exact = true};
  EXPECT_TRUE(with(cuckoo, cuckoo));
  EXPECT_FALSE(with(exact, cuckoo));
  EXPECT_FALSE(with(cuckoo, exact));
  EXPECT_FALSE(with(bloom, cuckoo));
  EXPECT_FALSE(with({.capacity = 500, .exact = true}, bloom));
  EXPECT_FALSE(with({.capacity = 500, .scales = false}, bloom)) << "it has several layers";
}

// What is made up is refused, whatever its checksums say; what a guard has made is not.
TEST(Dump, of_a_stranger_is_one_that_a_filter_could_have_given) {
  const auto refused = [](std::string_view dump, const std::function<void(ForgedLayer&)>& edit) {
    return !read_dump(forged(dump, edit), kSecret, FilterFileOrigin::stranger).has_value();
  };
  for (const Shape& shape : {Shape{.kind = Kind::bloom, .capacity = 500},
                             Shape{.kind = Kind::set, .capacity = 500},
                             Shape{.kind = Kind::cuckoo, .capacity = 500},
                             Shape{.kind = Kind::cuckoo, .capacity = 500, .exact = true}}) {
    const std::string dump = dump_of(*some(shape));
    EXPECT_FALSE(refused(dump, [](ForgedLayer& /*layer*/) {}));
    EXPECT_TRUE(refused(dump, [](ForgedLayer& layer) { layer.header.fingerprints = 0; }));
    EXPECT_TRUE(refused(dump, [](ForgedLayer& layer) { layer.header.sizing_load = 1e-300; }));
    EXPECT_TRUE(refused(dump, [](ForgedLayer& layer) {
      layer.payload.erase(0, (layer.header.buckets - 2) * sizeof(std::uint64_t));
      layer.header.buckets = 2;
    })) << "less room than it says";
  }
}

TEST(Dump, of_exact_counts_of_a_stranger_has_each_hash_once_where_it_is_found) {
  const Shape shape{.kind = Kind::cuckoo, .capacity = 500, .exact = true};
  auto filter = std::make_shared<FilledFilter>(shape, kSecret);
  for (std::uint64_t i = 0; i < 400; ++i) {
    filter->add(hash_of(i));
  }
  for (int times = 0; times < 300; ++times) {
    filter->add(hash_of(7));
    filter->add(hash_of(8));
  }
  const std::string dump = dump_of(*filter);
  const auto refused = [&](const std::function<void(ForgedLayer&)>& edit) {
    return !read_dump(forged(dump, edit), kSecret, FilterFileOrigin::stranger).has_value();
  };
  ASSERT_FALSE(refused([](ForgedLayer& /*layer*/) {}));
  const auto used = [](ForgedLayer& layer) {
    return std::string_view(layer.counts(), layer.header.count_slots).find('\1');
  };
  const auto hash_at = [](ForgedLayer& layer, std::size_t slot) {
    return std::span(layer.hashes() + slot * sizeof(std::uint64_t), sizeof(std::uint64_t));
  };
  EXPECT_TRUE(refused([&](ForgedLayer& layer) {
    std::ranges::fill(hash_at(layer, used(layer)), '\7');
  })) << "a hash where no probe comes, of which the table knows nothing";
  EXPECT_TRUE(refused([&](ForgedLayer& layer) { layer.counts()[used(layer)] = 2; }))
      << "more items than it says";
  EXPECT_TRUE(refused([&](ForgedLayer& layer) { layer.header.items += 1; }));
  EXPECT_TRUE(refused([&](ForgedLayer& layer) {
    layer.counts()[used(layer)] = 0;
    layer.header.items -= 1;
  })) << "items that others of the dump say it has";
  EXPECT_TRUE(refused([&](ForgedLayer& layer) {
    std::fill_n(layer.payload.data(), layer.header.buckets * sizeof(std::uint64_t), '\0');
    layer.header.fingerprints = 0;
  })) << "counts of what the table does not have";
  EXPECT_TRUE(refused([&](ForgedLayer& layer) {
    const std::uint64_t large = ~std::uint64_t{0} - 400;
    std::memcpy(layer.payload.data() + layer.payload.size() - sizeof(large), &large, sizeof(large));
  })) << "a count that the next item makes zero";
  auto only = std::make_unique<FilledFilter>(shape, kSecret);
  only->add(hash_of(1));
  const std::string twice = testing::with_a_hash_twice(dump_of(*only));
  EXPECT_FALSE(read_dump(twice, kSecret).has_value()) << "also of one's own";
}

TEST(Dump, that_a_client_is_given_is_known_by_its_tag) {
  const auto filter = some({.kind = Kind::cuckoo, .capacity = 500});
  const std::string dump = tagged(dump_of(*filter), kSecret);
  EXPECT_EQ(wrong_tag(dump, kSecret), std::nullopt);
  const auto read = read_dump(dump, kSecret, FilterFileOrigin::stranger);
  ASSERT_TRUE(read.has_value()) << "whoever knows of no tags reads it, too: " << read.error();
  EXPECT_EQ(dump_of(**read), dump_of(*filter));
  filter::HashSecret other;
  other.bytes[0] = std::byte{1};
  EXPECT_THAT(wrong_tag(dump, other).value_or(""), ::testing::HasSubstr("this secret"));
  EXPECT_THAT(wrong_tag(dump_of(*filter), kSecret).value_or(""), ::testing::HasSubstr("no tag"));
  const std::string changed = forged(dump, [](ForgedLayer& layer) { layer.payload[3] ^= 1; });
  EXPECT_THAT(wrong_tag(changed, kSecret).value_or(""), ::testing::HasSubstr("has been modified"));
  std::string more_items = dump;
  more_items[8 + 8 + 30] ^= 1;
  EXPECT_TRUE(wrong_tag(more_items, kSecret).has_value());
  for (std::size_t size = 0; size < dump.size(); size += 997) {
    EXPECT_TRUE(wrong_tag(std::string_view(dump).substr(0, size), kSecret).has_value());
  }
}

// Of a few bytes, or some KiB, at a time; with layers, and with counts.
TEST(Dump, is_read_in_parts_of_any_size) {
  for (const Shape& shape : {Shape{.kind = Kind::cuckoo, .capacity = 300},
                             Shape{.kind = Kind::cuckoo, .capacity = 5000, .exact = true}}) {
    const auto filter = some(shape);
    const std::string dump = tagged(dump_of(*filter), kSecret);
    for (const std::size_t size : {std::size_t{7}, std::size_t{4096}, std::size_t{50'001}}) {
      DumpReader reader(kSecret, dump.size(), FilterFileOrigin::stranger);
      for (std::size_t at = 0; at < dump.size(); at += size) {
        reader.add(std::string_view(dump).substr(at, size));
      }
      EXPECT_EQ(reader.wrong_tag(), std::nullopt);
      const auto read = reader.finish();
      ASSERT_TRUE(read.has_value()) << read.error();
      EXPECT_TRUE(dump_of(**read) == dump_of(*filter));
    }
    DumpReader more(kSecret, dump.size(), FilterFileOrigin::stranger);
    more.add(dump + "x");
    EXPECT_FALSE(more.finish().has_value());
  }
}

TEST(Dump, that_was_hashed_with_another_secret_is_refused) {
  filter::HashSecret other;
  other.bytes[0] = std::byte{1};
  const auto read = read_dump(dump_of(*some({.capacity = 500})), other);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().find("secret"), std::string::npos) << read.error();
}

}  // namespace
}  // namespace cuckooguard::filled
