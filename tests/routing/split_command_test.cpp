#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/routed_transport.h"

namespace cuckooguard::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// a and c are of other slots; {a}1 of a's.
std::vector<SplitPart> parts_of(std::initializer_list<std::string_view> words) {
  return split(redis::find_command(*words.begin()), {words.begin(), words.size()});
}
Merge merge(std::string_view name, bool splits_mset = false) {
  return merge_of(redis::find_command(name), splits_mset);
}

TEST(SplitCommand, makes_one_command_for_each_slot_whose_keys_keep_their_order) {
  const auto parts = parts_of({"MGET", "a", "c", "{a}1", "a"});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].command, "*4\r\n$4\r\nMGET\r\n$1\r\na\r\n$4\r\n{a}1\r\n$1\r\na\r\n");
  EXPECT_THAT(parts[0].places, ElementsAre(0, 2, 3));
  EXPECT_EQ(parts[1].command, "*2\r\n$4\r\nMGET\r\n$1\r\nc\r\n");
  EXPECT_THAT(parts[1].places, ElementsAre(1));
}

TEST(SplitCommand, keeps_values_with_their_keys) {
  const auto parts = parts_of({"MSET", "a", "1", "c", "2"});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].command, "*3\r\n$4\r\nMSET\r\n$1\r\nc\r\n$1\r\n2\r\n");
  EXPECT_THAT(parts_of({"MSET", "a", "1", "c"}), IsEmpty()) << "Redis refuses it whole";
}

TEST(SplitCommand, splits_what_each_slot_may_run_by_itself_and_nothing_else) {
  EXPECT_EQ(merge("MGET"), Merge::elements);
  for (const std::string_view name : {"exists", "TOUCH", "DEL", "unlink"}) {
    EXPECT_EQ(merge(name), Merge::sum) << name;
  }
  EXPECT_EQ(merge("MSET"), Merge::none);
  EXPECT_EQ(merge("MSET", true), Merge::first);
  for (const std::string_view name : {"MSETNX", "RENAME", "SUNION", "PFCOUNT", "BLPOP", "EVAL"}) {
    EXPECT_EQ(merge(name, true), Merge::none) << name;
  }
}

TEST(SplitCommand, merges_replies_of_whatever_form) {
  const std::vector<std::vector<std::uint32_t>> places{{0, 2}, {1}};
  const std::vector<std::string> replies{"*2\r\n$3\r\n\r\nx\r\n$-1\r\n", "*1\r\n_\r\n"};
  EXPECT_EQ(merged(Merge::elements, places, replies), "*3\r\n$3\r\n\r\nx\r\n_\r\n$-1\r\n");
  const std::vector<std::string> counts{":2\r\n", ":1\r\n"};
  EXPECT_EQ(merged(Merge::sum, places, counts), ":3\r\n");
  const std::vector<std::string> all{"+OK\r\n", "+OK\r\n"};
  EXPECT_EQ(merged(Merge::first, places, all), "+OK\r\n");
  const std::vector<std::string> refused{":2\r\n", "-NOPERM no\r\n"};
  EXPECT_EQ(merged(Merge::sum, places, refused), "-NOPERM no\r\n");
}

TEST(SplitCommand, takes_no_reply_of_another_command) {
  const std::vector<std::vector<std::uint32_t>> places{{0, 2}, {1}};
  for (const std::string_view wrong : {"*1\r\n$-1\r\n", "+OK\r\n", "*2\r\n$-1\r\n", ":x\r\n"}) {
    const std::vector<std::string> replies{std::string(wrong), "*1\r\n$-1\r\n"};
    EXPECT_EQ(merged(Merge::elements, places, replies), std::nullopt) << wrong;
    EXPECT_EQ(merged(Merge::sum, places, replies), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace cuckooguard::routing
