#include <cmath>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter_tool/commands.h"
#include "foreign/toy_format.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kItems = 10'000;

std::string item(int i) {
  return std::to_string(i * 7919 - 50'000);  // of any funnel
}

class FilterWritingCommands : public testing::Test {
 protected:
  auto create(const ForeignFile& foreign, ForeignFile::Wanted wanted = {}) const {
    return create_filter({.path = path_, .foreign = foreign, .wanted = wanted});
  }
  auto add(const ForeignFile& foreign, std::vector<std::string> items, std::string lines = {}) {
    std::istringstream input(lines);
    return add_to_filter({.path = path_, .items = std::move(items), .foreign = foreign}, input);
  }
  std::string bytes() const { return harness::read_whole_file(path_); }

  // Of so many items, in halves of both kinds; the bytes are the library's, tests/foreign says.
  void expect_filled(const ForeignFile& foreign, double rate) {
    std::vector<std::string> words;
    std::string lines;
    for (int i = 0; i < kItems / 2; ++i) {
      words.push_back(item(i));
      lines += item(i + kItems / 2) + "\n";
    }
    const auto first = add(foreign, words);
    ASSERT_TRUE(first) << first.error();
    const auto second = add(foreign, {}, lines);
    ASSERT_TRUE(second) << second.error();
    EXPECT_THAT(*second, StartsWith("added: 5000\nformat: " + foreign.format + "\n"));
    const auto filter = foreign.read(path_).value();
    int found = 0;
    int passed = 0;
    for (int i = 0; i < kItems; ++i) {
      found += filter->may_contain(item(i)) ? 1 : 0;
      passed += filter->may_contain(item(i + kItems)) ? 1 : 0;
    }
    EXPECT_EQ(found, kItems) << foreign.format;
    EXPECT_NEAR(passed, rate * kItems, 5 * std::sqrt(rate * kItems) + 1) << foreign.format;
  }

  harness::TemporaryDirectory folder_;
  std::string path_ = folder_.file("filter");
};

TEST_F(FilterWritingCommands, go_zero_is_made_of_bits) {
  const ForeignFile foreign{.format = "go-zero", .bits = 200'000};
  EXPECT_THAT(create(foreign).value(),
              StartsWith("format: go-zero\nbits: 200000\nhashes: 14\nfill: 0.0000\n"));
  EXPECT_EQ(bytes(), "") << "as what Redis has before the first item";
  expect_filled(foreign, 0.00006);
}

TEST_F(FilterWritingCommands, redisson_is_made_as_by_try_init) {
  const auto told = create({.format = "redisson"}, {.capacity = kItems, .rate = 0.01}).value();
  EXPECT_THAT(told, StartsWith("format: redisson\nbits: 95850\nhashes: 7\n"));
  expect_filled({.format = "redisson", .bits = 95'850, .hashes = 7}, 0.01);
}

TEST_F(FilterWritingCommands, guava_is_made_as_by_create) {
  for (const auto* const funnel : {"utf8", "long"}) {
    const ForeignFile foreign{.format = "guava", .funnel = funnel};
    EXPECT_THAT(create(foreign, {.capacity = kItems, .rate = 0.01}).value(),
                StartsWith("format: guava\nbits: 95872\nhashes: 7\n"));
    EXPECT_THAT(bytes(), AllOf(testing::SizeIs(6 + 95'872 / 8), StartsWith("\1\7")));
    expect_filled(foreign, 0.01);
    std::filesystem::remove(path_);
  }
}

TEST_F(FilterWritingCommands, a_bitmap_of_guava_is_made_of_items_or_of_bits) {
  EXPECT_THAT(create({.format = "guava-bitmap"}, {.capacity = kItems, .rate = 0.01}).value(),
              StartsWith("format: guava-bitmap\nbits: 95850\nhashes: 7\n"));
  std::filesystem::remove(path_);
  const ForeignFile foreign{.format = "guava-bitmap",
                            .bits = 95'850,
                            .hashes = 7,
                            .strategy = "murmur128_mitz_64",
                            .funnel = "long"};
  ASSERT_TRUE(create(foreign));
  expect_filled(foreign, 0.01);
}

TEST_F(FilterWritingCommands, seiflotfy_is_made_as_by_new_filter) {
  const ForeignFile foreign{.format = "seiflotfy"};
  EXPECT_THAT(create(foreign, {.capacity = kItems}).value(),
              StartsWith("format: seiflotfy\nslots: 16384\n"));
  EXPECT_EQ(bytes(), std::string(16'384, '\0'));
  expect_filled(foreign, 0.019);  // 8 slots of 1 in 255, 61 % of them taken
}

TEST_F(FilterWritingCommands, what_a_format_is_made_of_is_said) {
  EXPECT_EQ(create({.format = "go-zero"}, {.capacity = 5, .rate = 0.1}).error(),
            "--format go-zero needs --bits; given: --capacity and --rate");
  EXPECT_EQ(create({.format = "go-zero"}).error(),
            "--format go-zero needs --bits; given: none of these");
  EXPECT_EQ(create({.format = "guava-bitmap", .bits = 5}, {.rate = 0.1}).error(),
            "--format guava-bitmap needs --capacity and --rate, or --bits and --hashes; given: "
            "--bits and --rate");
  EXPECT_EQ(create({.format = "seiflotfy"}, {.capacity = 5, .rate = 0.1}).error(),
            "--format seiflotfy needs --capacity; given: --capacity and --rate");
  EXPECT_EQ(create({.format = "redisson"}, {.capacity = 5}).error(),
            "--format redisson needs --capacity and --rate; given: --capacity");
  EXPECT_THAT(create({.format = "redisson"}, {.capacity = 5, .rate = 2}).error(),
              HasSubstr("between 0 and 1, not 2"));
  EXPECT_THAT(create({.format = "guava"}, {.capacity = 5, .rate = 1}).error(),
              HasSubstr("between 0 and 1, not 1"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FilterWritingCommands, a_file_that_exists_is_not_made_anew) {
  harness::write_whole_file(path_, "mine");
  EXPECT_THAT(create({.format = "go-zero", .bits = 8}).error(),
              EndsWith("filter: the file already exists"));
  EXPECT_EQ(bytes(), "mine");
}

TEST_F(FilterWritingCommands, a_line_is_an_item_as_it_stands_there) {
  const ForeignFile foreign{.format = "guava"};
  ASSERT_TRUE(create(foreign, {.capacity = 1000, .rate = 1e-9}));
  EXPECT_THAT(add(foreign, {"-"}, "a\r\n\n b").value(), StartsWith("added: 3\n"));
  EXPECT_EQ(query_filter({.path = path_, .keys = {"a\r", "a", "", " b", "b"}, .foreign = foreign}),
            "may exist a\r\nabsent    a\nmay exist \nmay exist  b\nabsent    b\n");
  EXPECT_THAT(add(foreign, {"-", "b"}).value(), StartsWith("added: 2\n")) << "beside another one";
  EXPECT_THAT(add(foreign, {}, "").value(), StartsWith("added: 0\n"));
}

TEST_F(FilterWritingCommands, an_item_that_cannot_be_one_is_named_and_none_is_added) {
  const ForeignFile foreign{.format = "guava", .funnel = "long"};
  ASSERT_TRUE(create(foreign, {.capacity = 10, .rate = 0.01}));
  const std::string empty = bytes();
  EXPECT_THAT(add(foreign, {"7", "seven", "8"}).error(),
              EndsWith("filter: \"seven\" is not a 64-bit integer, as --funnel long requires"));
  EXPECT_THAT(add(foreign, {}, "7\n\x1b[31m\n").error(),
              HasSubstr("\"\\x1b[31m\" is not a 64-bit"));
  EXPECT_EQ(bytes(), empty);
}

TEST_F(FilterWritingCommands, an_item_without_room_is_named_and_none_is_added) {
  const ForeignFile foreign{.format = "seiflotfy"};
  ASSERT_TRUE(create(foreign, {.capacity = 4}));
  ASSERT_TRUE(add(foreign, {"a", "b"}));
  const std::string before = bytes();
  EXPECT_THAT(add(foreign, {"c", "d", "fifth"}).error(),
              EndsWith("filter: \"fifth\" does not fit: the filter is full"));
  EXPECT_EQ(bytes(), before);
  EXPECT_TRUE(add(foreign, {"c", "d"}));
}

TEST_F(FilterWritingCommands, what_is_no_filter_is_not_added_to) {
  EXPECT_THAT(add({.format = "seiflotfy"}, {"a"}).error(), HasSubstr("filter: No such file"));
  harness::write_whole_file(path_, "odd");
  EXPECT_THAT(add({.format = "seiflotfy"}, {"a"}).error(), HasSubstr("not a seiflotfy"));
  EXPECT_THAT(add({.format = "go-zero"}, {"a"}).error(), HasSubstr("needs --bits"));
  EXPECT_EQ(bytes(), "odd");
}

TEST_F(FilterWritingCommands, any_format_that_it_is_handed_is_made_filled_and_read) {
  const ForeignFile toy{.format = "toy", .formats = foreign::kToys};
  ASSERT_TRUE(create(toy, {.capacity = 2}));
  ASSERT_TRUE(add(toy, {}, "seen\nknown\n"));
  EXPECT_EQ(query_foreign(toy, path_, {"known", "now"}).value(),
            "may exist known\nabsent    now\n");
}

}  // namespace
}  // namespace cuckooguard::cli
