#include "filled/dump.h"

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "filled/hashes.h"

namespace cuckooguard::filled {
namespace {

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

TEST(Dump, that_was_hashed_with_another_secret_is_refused) {
  filter::HashSecret other;
  other.bytes[0] = std::byte{1};
  const auto read = read_dump(dump_of(*some({.capacity = 500})), other);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().find("secret"), std::string::npos) << read.error();
}

}  // namespace
}  // namespace cuckooguard::filled
