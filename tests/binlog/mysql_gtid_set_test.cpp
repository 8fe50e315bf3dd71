#include "binlog/mysql_gtid_set.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;

const std::string kOne = "11111111-1111-1111-1111-111111111111";
const std::string kTwo = "22222222-2222-2222-2222-222222222222";

MySqlGtidSet set_of(const std::string& text) {
  const auto set = MySqlGtidSet::parse(text);
  EXPECT_TRUE(set) << text;
  return set.value_or(MySqlGtidSet{});
}

std::string items(std::initializer_list<std::string> list) {
  std::string joined;
  for (const std::string& item : list) {
    joined += joined.empty() ? "" : ",";
    joined += item;
  }
  return joined;
}

std::string normal(const std::string& text) {
  return set_of(text).to_string();
}

MySqlGtid gtid_of(const std::string& uuid, std::uint64_t number, const std::string& tag = "") {
  const MySqlGtidSource source = [&] {
    MySqlGtidSource made;
    made.uuid.fill(static_cast<std::uint8_t>(std::stoul(uuid.substr(0, 2), nullptr, 16)));
    EXPECT_TRUE(made.set_tag(tag));
    return made;
  }();
  return {.source = source, .number = number};
}

TEST(MySqlGtidSet, is_printed_as_it_was_read_in_its_normal_form) {
  EXPECT_EQ(normal(""), "");
  EXPECT_EQ(normal(kOne + ":1-5:7"), kOne + ":1-5:7");
  EXPECT_EQ(normal(kTwo + ":3,\n " + kOne + ":1 - 5 : 7,"), kOne + ":1-5:7," + kTwo + ":3");
  EXPECT_EQ(normal(kOne + ":7:1-3:4-5:2"), kOne + ":1-5:7");
  EXPECT_EQ(normal("ABCDEF00-1111-1111-1111-111111111111:1"),
            "abcdef00-1111-1111-1111-111111111111:1");
  EXPECT_EQ(normal(kOne + ":9223372036854775806"), kOne + ":9223372036854775806");
}

TEST(MySqlGtidSet, keeps_the_numbers_of_each_tag_apart) {
  EXPECT_EQ(normal(kOne + ":Blue:1-2," + kOne + ":1-3:blue:3:_a:1"), kOne + ":1-3:_a:1:blue:1-3");
  EXPECT_TRUE(set_of(kOne + ":blue:1").contains(gtid_of(kOne, 1, "blue")));
  EXPECT_FALSE(set_of(kOne + ":blue:1").contains(gtid_of(kOne, 1)));
  EXPECT_EQ(normal(kOne + ":blue:1," + kTwo + ":blue:1"), kOne + ":blue:1," + kTwo + ":blue:1");
}

TEST(MySqlGtidSet, is_not_read_from_any_other_text) {
  for (const std::string& text : {kOne,
                                  kOne + ":",
                                  kOne + ":0",
                                  kOne + ":5-3",
                                  kOne + ":1-",
                                  kOne + ":-1",
                                  kOne + ":1x",
                                  kOne + ":9223372036854775807",
                                  kOne + ":18446744073709551617",
                                  kOne + ":1::2",
                                  kOne + ":blue",
                                  kOne + ":blue:red:1",
                                  kOne + ":1:blue",
                                  kOne + ":bl-ue:1",
                                  kOne + ":" + std::string(33, 'a') + ":1",
                                  "1" + kOne + ":1",
                                  kOne.substr(1) + ":1",
                                  "g1111111-1111-1111-1111-111111111111:1"s,
                                  "11111111x1111-1111-1111-111111111111:1"s,
                                  "1"s,
                                  "+1111111-1111-1111-1111-111111111111:1"s}) {
    EXPECT_FALSE(MySqlGtidSet::parse(text)) << text;
  }
}

TEST(MySqlGtidSet, covers_what_it_has_and_nothing_else) {
  const MySqlGtidSet set = set_of(items({kOne + ":1-5:7-9", kTwo + ":1"}));
  for (const std::string& part :
       {""s, kOne + ":5", items({kOne + ":2-4:8-9", kTwo + ":1"}), kOne + ":1-5:7-9"}) {
    EXPECT_TRUE(set.covers(set_of(part))) << part;
  }
  for (const std::string& other : {kOne + ":6",
                                   kOne + ":4-8",
                                   kOne + ":10",
                                   kTwo + ":1-2",
                                   "33333333-3333-3333-3333-333333333333:1"s,
                                   kOne + ":a:1"}) {
    EXPECT_FALSE(set.covers(set_of(other))) << other;
  }
}

TEST(MySqlGtidSet, is_the_same_after_a_way_over_bytes) {
  for (const std::string& text :
       {""s,
        kOne + ":1-5:7",
        items({kOne + ":1", kTwo + ":2:9223372036854775806"}),
        items({kOne + ":1:zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz:1-3", kTwo + ":a:5"})}) {
    const MySqlGtidSet set = set_of(text);
    const auto decoded = MySqlGtidSet::decode(set.encode());
    ASSERT_TRUE(decoded) << text;
    EXPECT_EQ(*decoded, set);
    EXPECT_EQ(decoded->to_string(), text);
  }
}

TEST(MySqlGtidSet, has_the_old_bytes_as_long_as_there_is_no_tag) {
  std::string expected = "\1\0\0\0\0\0\0\0"s + std::string(16, '\x11');
  expected += "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0"s;
  EXPECT_EQ(set_of(kOne + ":1-5").encode(), expected);
}

TEST(MySqlGtidSet, is_not_decoded_from_bytes_that_are_cut_or_too_many) {
  for (const std::string& text : {kOne + ":1-5:7", kOne + ":a:1-5:7"}) {
    const std::string bytes = set_of(text).encode();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(MySqlGtidSet::decode(bytes.substr(0, size))) << size;
    }
    EXPECT_EQ(MySqlGtidSet::decode(bytes + '\0').error(), DecodeError::trailing_bytes);
  }
}

TEST(MySqlGtidSet, does_not_believe_counts_that_no_bytes_follow) {
  EXPECT_FALSE(MySqlGtidSet::decode("\xff\xff\xff\xff\xff\xff\xff\0"s));
  EXPECT_FALSE(
      MySqlGtidSet::decode("\1\0\0\0\0\0\0\0"s + std::string(16, 'u') + std::string(8, '\xff')));
  EXPECT_FALSE(MySqlGtidSet::decode("\0\0\0\0\0\0\0\2"s)) << "a format to come";
}

TEST(MySqlGtidSet, refuses_intervals_beyond_its_limit_and_stays_as_it_was) {
  MySqlGtidSet set;
  const MySqlGtidSource source = gtid_of(kOne, 1).source;
  for (std::uint64_t i = 1; i <= MySqlGtidSet::kIntervalsMax; ++i) {
    ASSERT_TRUE(set.add(source, 2 * i, 2 * i));
  }
  EXPECT_FALSE(set.add(gtid_of(kTwo, 1)));
  EXPECT_FALSE(set.contains(gtid_of(kTwo, 1)));
  EXPECT_TRUE(set.contains(gtid_of(kOne, 2 * MySqlGtidSet::kIntervalsMax)));
}

// Against a plain set of numbers.
TEST(MySqlGtidSet, has_exactly_the_numbers_that_were_added) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  const char* const given = std::getenv("CUCKOOGUARD_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr std::uint64_t kNumbers = 60;
  for (int round = 0; round < 200; ++round) {
    MySqlGtidSet set;
    std::set<std::uint64_t> model;
    for (int i = 0; i < 15; ++i) {
      const std::uint64_t first = 1 + random() % kNumbers;
      const std::uint64_t last = std::min(kNumbers, first + random() % 4);
      ASSERT_TRUE(set.add(gtid_of(kOne, 1).source, first, last));
      for (std::uint64_t number = first; number <= last; ++number) {
        model.insert(number);
      }
      std::string text;
      for (std::uint64_t number = 0; number <= kNumbers + 1; ++number) {
        ASSERT_EQ(set.contains(gtid_of(kOne, number)), model.contains(number)) << number;
        text += model.contains(number) ? ":" + std::to_string(number) : "";
      }
      ASSERT_EQ(set, set_of(kOne + text));
    }
  }
}

}  // namespace
}  // namespace cuckooguard::binlog
