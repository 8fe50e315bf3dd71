#include "filter/isolated_rows.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

keyspace::IdentityPattern pattern_of(std::string_view value) {
  constexpr std::array kTypes = {keyspace::ValueType::text_ci};
  return *keyspace::IdentityPattern::of(std::array{value}, kTypes);
}

class IsolatedRowsTest : public ::testing::Test {
 protected:
  std::uint64_t hash(std::string_view value) const { return filter_.hash(value); }
  void add(std::string_view value) { rows_.add(hash(value), pattern_of(value)); }

  CuckooFilter filter_{sizing_for(Layout::w20, 1000, DeleteMode::trusted),
                       testing::fixed_secret(1)};
  IsolatedRows rows_;
};

TEST_F(IsolatedRowsTest, are_as_long_as_the_filter_has_them) {
  add("M\u00fcller");
  EXPECT_FALSE(rows_.may_be("muller", filter_));
  filter_.insert(hash("M\u00fcller"));
  EXPECT_TRUE(rows_.may_be("muller", filter_));
  EXPECT_FALSE(rows_.may_be("miller junior", filter_));
  filter_.erase(hash("M\u00fcller"));
  EXPECT_FALSE(rows_.may_be("muller", filter_));
}

TEST_F(IsolatedRowsTest, count_once_and_are_forgotten_when_the_filter_has_them_no_more) {
  for (const std::string_view value : {"M\u00fcller", "J\u00f6rg", "M\u00fcller"}) {
    add(value);
  }
  EXPECT_EQ(rows_.size(), 2U);
  filter_.insert(hash("J\u00f6rg"));
  EXPECT_EQ(rows_.count_in(filter_), 1U);
  EXPECT_TRUE(rows_.leave_those_in(filter_));
  EXPECT_FALSE(rows_.leave_those_in(filter_));
  EXPECT_TRUE(rows_.has(hash("J\u00f6rg")));
  EXPECT_FALSE(rows_.has(hash("M\u00fcller")));
}

TEST_F(IsolatedRowsTest, come_back_from_their_bytes_and_from_no_others) {
  add("M\u00fcller");
  add("J\u00f6rg");
  const std::string bytes = rows_.bytes();
  const auto parsed = IsolatedRows::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->bytes(), bytes);
  IsolatedRows one;
  one.add(hash("J\u00f6rg"), pattern_of("J\u00f6rg"));
  const std::size_t with_one = one.bytes().size();
  const std::size_t with_other = bytes.size() - with_one + bytes.find('\n') + 1;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    if (cut != with_one && cut != with_other) {
      EXPECT_FALSE(IsolatedRows::parse(std::string_view(bytes).substr(0, cut))) << cut;
    }
  }
}

// A file of before had another meaning.
TEST_F(IsolatedRowsTest, come_back_from_no_other_format) {
  add("M\u00fcller");
  std::string bytes = rows_.bytes();
  bytes.erase(0, bytes.find('\n') + 1);
  EXPECT_FALSE(IsolatedRows::parse(bytes));
  EXPECT_TRUE(IsolatedRows::parse(""));
}

TEST_F(IsolatedRowsTest, may_be_anything_where_patterns_say_nothing) {
  add("M\u00fcller");
  EXPECT_FALSE(rows_.may_be("x", filter_, true));
  filter_.insert(hash("M\u00fcller"));
  EXPECT_TRUE(rows_.may_be("x", filter_, true));
  EXPECT_FALSE(rows_.may_be("x", filter_));
}

// A file that has more was not written by us.
TEST_F(IsolatedRowsTest, are_not_read_without_a_limit) {
  const keyspace::IdentityPattern pattern = pattern_of("\u00e9");
  for (std::uint64_t i = 0; i < IsolatedRows::kParsedMax; ++i) {
    rows_.add(i, pattern);
  }
  EXPECT_TRUE(IsolatedRows::parse(rows_.bytes()));
  rows_.add(IsolatedRows::kParsedMax, pattern);
  EXPECT_FALSE(IsolatedRows::parse(rows_.bytes()));
}

}  // namespace
}  // namespace cuckooguard::filter
