#include "redis/missing_reply.h"

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/newer_commands.h"
#include "redis/redis_7_0_commands.h"

namespace cuckooguard::redis {
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

// What Redis 7.0.15 lacks: the servers that have it were asked for a key that was not there.
TEST(MissingReply, reads_of_newer_servers_get_the_bytes_that_those_gave) {
  struct Recorded {
    std::vector<std::string> reads;
    const char* resp2;
    const char* resp3;
  };
  static const Recorded kRecorded[] = {
      // Redis 8.0.6 and Valkey 9.1.2
      {{"HTTL k FIELDS 1 a", "hpttl k fields 1 a", "HEXPIRETIME k FIELDS 1 a"},
       "*1\r\n:-2\r\n",
       "*1\r\n:-2\r\n"},
      {{"HPEXPIRETIME k FIELDS 2 a a"}, "*2\r\n:-2\r\n:-2\r\n", "*2\r\n:-2\r\n:-2\r\n"},
      {{"HGETEX k FIELDS 1 a", "HGETEX k PXAT 4102444800000 FIELDS 1 a"},
       "*1\r\n$-1\r\n",
       "*1\r\n_\r\n"},
      {{"HGETEX k FIELDS 2 a b",
        "HGETEX k persist FIELDS 2 a b",
        "HGETEX k EX 10 FIELDS 2 a b",
        "HGETEX k EXAT 4102444800 FIELDS 2 a b"},
       "*2\r\n$-1\r\n$-1\r\n",
       "*2\r\n_\r\n_\r\n"},
      // Redis 7.0.15, too, which looks at no option of a key that is missing
      {{"HSCAN k 0 NOVALUES", "HSCAN k 0 MATCH a NOVALUES COUNT 5"},
       "*2\r\n$1\r\n0\r\n*0\r\n",
       "*2\r\n$1\r\n0\r\n*0\r\n"},
      // Redis 8.0.6
      {{"VCARD k"}, ":0\r\n", ":0\r\n"},
      {{"VISMEMBER k a"}, ":0\r\n", "#f\r\n"},
      {{"VINFO k"}, "*-1\r\n", "_\r\n"},
      {{"VEMB k a", "VEMB k a RAW", "VGETATTR k a", "VLINKS k a WITHSCORES", "VRANDMEMBER k"},
       "$-1\r\n",
       "_\r\n"},
      {{"VRANDMEMBER k -3",
        "VSIM k ELE a",
        "VSIM k ELE a WITHSCORES COUNT 5 EF 10 TRUTH NOTHREAD",
        "VSIM k VALUES 2 1 -2.5 COUNT 3"},
       "*0\r\n",
       "*0\r\n"},
  };
  for (const Recorded& recorded : kRecorded) {
    for (const std::string& read : recorded.reads) {
      EXPECT_EQ(reply_to(read), recorded.resp2) << read;
      EXPECT_EQ(reply3_to(read), recorded.resp3) << read;
    }
  }
}

TEST(MissingReply, what_newer_servers_may_refuse_or_give_different_replies_to_is_not_answered) {
  for (const char* const read : {"HTTL k a",
                                 "HTTL k FIELDS 0",
                                 "HTTL k FIELDS 2 a",
                                 "HTTL k FIELDS 1 a b",
                                 "HTTL k FIELDS 01 a",
                                 "HTTL k FIELDS -1 a",
                                 "HGETEX k EX 0 FIELDS 1 a",
                                 "HGETEX k EX 10000000000 FIELDS 1 a",
                                 "HGETEX k FIELDS 1 a EX 10",
                                 "HGETEX k EX 10 PERSIST FIELDS 1 a",
                                 "HGETDEL k FIELDS 1 a",
                                 "SSCAN k 0 NOVALUES",
                                 "GEOSEARCH k BYPOLYGON 3 1 1 2 2 3 3",
                                 "XREAD STREAMS k +",
                                 "VDIM k",
                                 "VLINKS k a b",
                                 "VRANDMEMBER k x",
                                 "VSIM k ELE a FILTER .a",
                                 "VSIM k VALUES 3 1 2",
                                 "VSIM k FP32 abcd",
                                 "CLUSTERSCAN 0"}) {
    EXPECT_EQ(reply_to(read), kNotAnswered) << read;
  }
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
  std::istringstream lines{std::string(kRedis70Commands).append(kRedis80Commands)};
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() > 1 && words[1] == "readonly") {
      read_only.insert(words[0].substr(0, words[0].find('|')));
    }
  }
  for (const std::string_view name : names_of_answered_reads()) {
    if (name ==
        "hgetex") {  // which changes when fields expire, and nothing of a key that is missing
      EXPECT_EQ(find_command(name).role, Role::getex);
      continue;
    }
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
  EXPECT_THAT(
      left, testing::ElementsAre("eval_ro", "evalsha_ro", "fcall_ro", "vdim", "xinfo", "xpending"));
}

}  // namespace
}  // namespace cuckooguard::redis
