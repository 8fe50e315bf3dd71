#include "guard/missing_reply.h"

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/redis_7_0_commands.h"

namespace cuckooguard::guard {
namespace {

constexpr std::string_view kNotAnswered = "(Redis's to answer)";

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

std::string reply_to(const std::string& line, resp::Version version = resp::Version::resp2) {
  const std::vector<std::string> words = words_of(line);
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  const auto reply = missing_reply(find_command(arguments.front()), arguments);
  std::string scratch = "left over";
  return std::string(reply ? bytes_of(*reply, arguments.size(), version, scratch) : kNotAnswered);
}

std::string reply3_to(const std::string& line) {
  return reply_to(line, resp::Version::resp3);
}

TEST(MissingReply, nils_are_written_in_the_clients_version) {
  for (const char* const read : {"DUMP k",
                                 "HGET k f",
                                 "ZSCORE k m",
                                 "LINDEX k 0",
                                 "LPOS k e",
                                 "SRANDMEMBER k",
                                 "OBJECT ENCODING k",
                                 "memory usage k",
                                 "GEODIST k a b m",
                                 "zrank k m",
                                 "HRANDFIELD k"}) {
    EXPECT_EQ(reply_to(read), "$-1\r\n") << read;
    EXPECT_EQ(reply3_to(read), "_\r\n") << read;
  }
  EXPECT_EQ(reply_to("XREAD STREAMS k 0"), "*-1\r\n");
  EXPECT_EQ(reply3_to("XREAD STREAMS k 0"), "_\r\n");
}

TEST(MissingReply, collections_keep_their_type_in_resp3) {
  EXPECT_EQ(reply_to("SMEMBERS k"), "*0\r\n");
  EXPECT_EQ(reply3_to("SMEMBERS k"), "~0\r\n");
  EXPECT_EQ(reply3_to("SDIFF k k2"), "~0\r\n");
  EXPECT_EQ(reply_to("HGETALL k"), "*0\r\n");
  EXPECT_EQ(reply3_to("HGETALL k"), "%0\r\n");
  EXPECT_EQ(reply3_to("HKEYS k"), "*0\r\n");
  EXPECT_EQ(reply3_to("ZDIFF 2 k k2"), "*0\r\n");
  EXPECT_EQ(reply3_to("LRANGE k 0 -1"), "*0\r\n");
  EXPECT_EQ(reply_to("LCS k k2 IDX"), "*4\r\n$7\r\nmatches\r\n*0\r\n$3\r\nlen\r\n:0\r\n");
  EXPECT_EQ(reply3_to("LCS k k2 IDX"), "%2\r\n$7\r\nmatches\r\n*0\r\n$3\r\nlen\r\n:0\r\n");
}

TEST(MissingReply, arrays_have_an_element_for_each_that_was_asked_for) {
  EXPECT_EQ(reply_to("HMGET k a"), "*1\r\n$-1\r\n");
  EXPECT_EQ(reply_to("HMGET k a b a"), "*3\r\n$-1\r\n$-1\r\n$-1\r\n");
  EXPECT_EQ(reply3_to("ZMSCORE k a b"), "*2\r\n_\r\n_\r\n");
  EXPECT_EQ(reply3_to("SMISMEMBER k a b"), "*2\r\n:0\r\n:0\r\n");
  EXPECT_EQ(reply_to("GEOPOS k a b"), "*2\r\n*-1\r\n*-1\r\n");
  EXPECT_EQ(reply3_to("GEOPOS k a b"), "*2\r\n_\r\n_\r\n");
  EXPECT_EQ(reply_to("GEOHASH k a"), "*1\r\n$-1\r\n");
  EXPECT_EQ(reply_to("GEOHASH k"), "*0\r\n");
  EXPECT_EQ(reply_to("BITFIELD_RO k"), "*0\r\n");
  EXPECT_EQ(reply_to("BITFIELD_RO k GET u8 0 GET i5 #1"), "*2\r\n:0\r\n:0\r\n");
}

TEST(MissingReply, options_may_change_what_a_command_replies) {
  EXPECT_EQ(reply_to("LPOS k e RANK 2 MAXLEN 0"), "$-1\r\n");
  EXPECT_EQ(reply_to("LPOS k e RANK 2 count 0"), "*0\r\n");
  EXPECT_EQ(reply_to("HRANDFIELD k 1"), "*0\r\n");
  EXPECT_EQ(reply_to("SRANDMEMBER k -1"), "*0\r\n");
  EXPECT_EQ(reply_to("ZRANDMEMBER k 1 WITHSCORES"), "*0\r\n");
  EXPECT_EQ(reply_to("BITPOS k 0"), ":0\r\n");
  EXPECT_EQ(reply_to("BITPOS k 1 0 -1 BIT"), ":-1\r\n");
  EXPECT_EQ(reply_to("LCS k k2"), "$0\r\n\r\n");
  EXPECT_EQ(reply_to("LCS k k2 WITHMATCHLEN LEN"), ":0\r\n");
}

TEST(MissingReply, places_are_searched_with_all_options) {
  for (const char* const read : {"GEORADIUS_RO k 13.361389 38.115556 200 km",
                                 "GEORADIUS_RO k -180 85 0 M WITHCOORD WITHDIST WITHHASH",
                                 "georadius_ro k -180 85 0 M count 3 any asc withhash",
                                 "GEORADIUSBYMEMBER_RO k m 10 ft DESC COUNT 2",
                                 "GEOSEARCH k FROMMEMBER m BYRADIUS 5 km",
                                 "GEOSEARCH k ASC BYBOX 400 400 km FROMLONLAT 15 37 COUNT 10"}) {
    EXPECT_EQ(reply_to(read), "*0\r\n") << read;
  }
}

TEST(MissingReply, integers_and_states_are_those_of_redis) {
  EXPECT_EQ(reply_to("TTL k"), ":-2\r\n");
  EXPECT_EQ(reply_to("PEXPIRETIME k"), ":-2\r\n");
  EXPECT_EQ(reply_to("STRLEN k"), ":0\r\n");
  EXPECT_EQ(reply_to("TYPE k"), "+none\r\n");
  EXPECT_EQ(reply_to("GETRANGE k 0 -1"), "$0\r\n\r\n");
  EXPECT_EQ(reply_to("HSCAN k 0 COUNT 10 MATCH *"), "*2\r\n$1\r\n0\r\n*0\r\n");
}

TEST(MissingReply, what_redis_may_refuse_is_not_answered) {
  for (const char* const read : {"TTL",
                                 "TTL k k",
                                 "GETRANGE k a b",
                                 "LRANGE k 0",
                                 "OBJECT HELP",
                                 "OBJECT k ENCODING",
                                 "OBJECT ENCODING",
                                 "MEMORY DOCTOR",
                                 "MEMORY USAGE k SAMPLES -1",
                                 "LPOS k e RANK 0",
                                 "LCS k k2 LEN IDX",
                                 "LCS k",
                                 "BITPOS k 2",
                                 "BITCOUNT k 0",
                                 "GETBIT k #1",
                                 "GETBIT k 4294967295",
                                 "ZRANGE k 0 -1 LIMIT 0 1",
                                 "ZRANGE k 0 1 BYSCORE BYLEX",
                                 "ZRANGE k - + BYLEX WITHSCORES",
                                 "ZRANGE k (1 2",
                                 "ZRANK k m WITHSCORE",
                                 "ZUNION 0",
                                 "ZDIFF 1 k WEIGHTS 1",
                                 "ZRANGEBYLEX k - + WITHSCORES",
                                 "SINTERCARD 1 k LIMIT -1",
                                 "GEOSEARCH k FROMMEMBER m",
                                 "GEOSEARCH k BYRADIUS 1 km ASC COUNT 1",
                                 "GEOSEARCH k FROMMEMBER m FROMLONLAT 1 1 BYRADIUS 1 km",
                                 "GEOSEARCH k FROMMEMBER m BYRADIUS 1 km BYBOX 1 1 km",
                                 "GEODIST k a b parsec",
                                 "HSCAN k 0 COUNT 0",
                                 "HSCAN k x",
                                 "XRANGE k - (0-0",
                                 "XREAD STREAMS k >",
                                 "HMGET k"}) {
    EXPECT_EQ(reply_to(read), kNotAnswered) << read;
  }
}

TEST(MissingReply, what_waits_fails_or_names_keys_in_other_places_is_not_answered) {
  for (const char* const read : {"XREAD BLOCK 0 STREAMS k 0",
                                 "XINFO STREAM k",
                                 "XPENDING k g",
                                 "SORT_RO k BY w_*",
                                 "SORT_RO k GET other:*",
                                 "EVAL_RO script 1 k",
                                 "FCALL_RO f 1 k",
                                 "GET k",
                                 "SET k v",
                                 "NOSUCH k",
                                 "KEYS *",
                                 "SCAN 0",
                                 "DBSIZE"}) {
    EXPECT_EQ(reply_to(read), kNotAnswered) << read;
  }
}

TEST(MissingReply, every_command_in_the_table_is_one_that_redis_calls_read_only) {
  std::set<std::string> read_only;
  std::istringstream lines{std::string(kRedis70Commands)};
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() > 1 && words[1] == "readonly") {
      read_only.insert(words[0].substr(0, words[0].find('|')));
    }
  }
  for (const std::string_view name : names_of_answered_reads()) {
    EXPECT_TRUE(read_only.contains(std::string(name))) << name;
    EXPECT_EQ(find_command(name).role, Role::read) << name;
    EXPECT_NE(find_command(name).keys, KeyShape::anywhere) << name << ": which are its keys?";
  }
}

TEST(MissingReply, the_reads_that_are_not_in_the_table_are_known_by_name) {
  const auto names = names_of_answered_reads();
  std::set<std::string_view> left;
  for (const Command& command : all_commands()) {
    if (command.role == Role::read && std::ranges::find(names, command.name) == names.end()) {
      left.insert(command.name);
    }
  }
  EXPECT_THAT(left, testing::ElementsAre("eval_ro", "evalsha_ro", "fcall_ro", "xinfo", "xpending"));
}

}  // namespace
}  // namespace cuckooguard::guard
