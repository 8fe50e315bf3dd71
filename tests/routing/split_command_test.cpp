#include "routing/split_command.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/scan_cursor.h"

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

std::optional<std::string> of_masters(Merge merge, const std::vector<std::string>& replies) {
  return merged(merge, {}, replies);
}

TEST(MergedReplies, are_one_for_all_masters) {
  EXPECT_EQ(of_masters(Merge::sum, {":3\r\n", ":0\r\n", ":4\r\n"}), ":7\r\n");
  EXPECT_EQ(of_masters(Merge::least, {":3\r\n", ":1\r\n", ":4\r\n"}), ":1\r\n");
  EXPECT_EQ(of_masters(Merge::joined, {"*1\r\n$1\r\na\r\n", "*0\r\n", "*1\r\n:1\r\n"}),
            "*2\r\n$1\r\na\r\n:1\r\n");
  EXPECT_EQ(of_masters(Merge::present, {"$-1\r\n", "_\r\n", "$1\r\na\r\n"}), "$1\r\na\r\n");
  EXPECT_EQ(of_masters(Merge::present, {"_\r\n", "_\r\n"}), "_\r\n");
  for (const Merge merge :
       {Merge::sum, Merge::least, Merge::joined, Merge::first, Merge::present}) {
    EXPECT_EQ(of_masters(merge, {":1\r\n", "-NOPERM no\r\n"}), "-NOPERM no\r\n");
  }
  EXPECT_EQ(of_masters(Merge::joined, {":1\r\n"}), std::nullopt);
}

TEST(MergedReplies, say_whether_a_script_has_been_ended_anywhere) {
  const std::string none = "-NOTBUSY No scripts in execution right now.\r\n";
  const std::string cannot = "-UNKILLABLE Sorry\r\n";
  EXPECT_EQ(of_masters(Merge::ended, {none, none}), none);
  EXPECT_EQ(of_masters(Merge::ended, {none, "+OK\r\n"}), "+OK\r\n");
  EXPECT_EQ(of_masters(Merge::ended, {none, "+OK\r\n", cannot}), cannot);
}

TEST(MergedReplies, tell_of_no_cluster) {
  EXPECT_EQ(of_masters(Merge::info, {"$41\r\n# Server\r\nredis_mode:cluster\r\na:cluster\r\n\r\n"}),
            "$44\r\n# Server\r\nredis_mode:standalone\r\na:cluster\r\n\r\n");
  EXPECT_EQ(of_masters(Merge::info, {"=34\r\ntxt:# Cluster\r\ncluster_enabled:1\r\n\r\n"}),
            "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n");
  EXPECT_EQ(of_masters(Merge::info, {"$9\r\nshort\r\n"}), std::nullopt);
  EXPECT_EQ(of_masters(Merge::hello, {"%1\r\n$4\r\nmode\r\n$7\r\ncluster\r\n"}),
            "%1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n");
}

TEST(ScanCursor, carries_the_node_and_what_has_moved) {
  const ScanCursor cursor{
      .node = 0x1234567890, .place = 999, .tag = 8191, .has_moved = true, .is_second = true};
  const ScanCursor read = ScanCursor::of(cursor.number());
  EXPECT_EQ(read.node, cursor.node);
  EXPECT_EQ(read.place, cursor.place);
  EXPECT_EQ(read.tag, cursor.tag);
  EXPECT_TRUE(read.has_moved);
  EXPECT_TRUE(read.is_second);
  EXPECT_FALSE(ScanCursor::of(ScanCursor{.tag = 1, .is_second = true}.number()).has_moved);
  EXPECT_FALSE(
      ScanCursor::of(ScanCursor{.node = ScanCursor::kNodeMax, .tag = 1}.number()).has_moved);
  EXPECT_LT((ScanCursor{.node = (1U << 28U) - 1, .place = 1023, .tag = 8191}.number()),
            std::uint64_t{1} << 53U);
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
