#include "filled/operation.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::filled {
namespace {

const Operation kAll{.kind = Operation::Kind::load,
                     .filter = std::string("se\0en", 5),
                     .shape = {.kind = Kind::cuckoo,
                               .capacity = 77,
                               .false_positive_rate = 0.25,
                               .scales = false,
                               .exact = true,
                               .expansion = 9,
                               .bucket_size = 3,
                               .iterations_max = 21},
                     .hashes = {1, 0xFFFFFFFFFFFFFFFFU},
                     .until = 1234567890123,
                     .piece = 3,
                     .incarnation = 5,
                     .blob = "\r\n\0x",
                     .must_be_tagged = true,
                     .filters_max = 6,
                     .bytes_max = 7};

TEST(Operation, is_read_back_as_it_was_written) {
  std::string bytes;
  put(bytes, kAll);
  const Operation drop{
      .kind = Operation::Kind::drop, .filter = "b", .missing = Operation::Missing::is_made};
  put(bytes, drop);
  text::LittleEndianCursor reader(bytes);
  EXPECT_EQ(take_operation(reader), kAll);
  EXPECT_EQ(take_operation(reader), drop);
  EXPECT_TRUE(reader.at_end());
}

TEST(Operation, that_is_cut_anywhere_is_none) {
  std::string bytes;
  put(bytes, kAll);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    text::LittleEndianCursor reader(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(take_operation(reader).has_value()) << size;
  }
}

// Of a number of hashes that is larger than what is there, nothing is taken from memory.
TEST(Operation, with_impossible_numbers_is_none) {
  const auto with = [](Operation operation) {
    std::string bytes;
    put(bytes, operation);
    text::LittleEndianCursor reader(bytes);
    return take_operation(reader).has_value();
  };
  EXPECT_TRUE(with({}));
  EXPECT_FALSE(with({.shape = {.capacity = 0}}));
  EXPECT_FALSE(with({.shape = {.capacity = kItemsMax + 1}}));
  EXPECT_FALSE(with({.shape = {.false_positive_rate = 0}}));
  EXPECT_FALSE(with({.shape = {.false_positive_rate = 1}}));
  EXPECT_FALSE(with({.shape = {.expansion = kExpansionMax + 1}}));
  EXPECT_FALSE(with({.kind = static_cast<Operation::Kind>(99)}));
  EXPECT_FALSE(with({.shape = {.kind = static_cast<Kind>(3)}}));
  EXPECT_FALSE(with({.shape = {.kind = Kind::bloom, .exact = true}}));
}

}  // namespace
}  // namespace cuckooguard::filled
