// The family of filled/served/commands.cpp.
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"
#include "guard/own_command_client.h"

namespace cuckooguard::guard {
namespace {

using testing::HasSubstr;

using Words = std::initializer_list<std::string_view>;

class FilledCommandsTest : public OwnCommandClient {
 protected:
  using Action = OwnDecision::Action;

  static std::string written(const OwnDecision& decision) {
    std::string out;
    if (decision.promise && decision.promise->is_known()) {
      decision.promise->append_to(out);
    }
    return out;
  }

  FilledShop filled_{shop_};
};

TEST_F(FilledCommandsTest, are_those_of_keys_that_are_filters_or_may_become_one) {
  EXPECT_TRUE(takes({"BF.ADD", "seen", "1"}));
  EXPECT_TRUE(takes({"bf.exists", "bf:x", "1"}));
  EXPECT_TRUE(takes({"SADD", "books:dupefilter", "1"}));
  EXPECT_FALSE(takes({"BF.ADD", "else", "1"}));
  EXPECT_FALSE(takes({"SADD", "books:other", "1"}));
  EXPECT_FALSE(takes({"SADD", "seen:x", "1"}));
  EXPECT_FALSE(takes({"GET", "seen"}));
  EXPECT_TRUE(takes({"BF.ADD"})) << "no filter of Redis's, either";
  EXPECT_FALSE(takes({"DEL", "seen"})) << "there is none yet";
  EXPECT_FALSE(takes({"TYPE", "bf:x"}));
  (void)reply({"BF.ADD", "seen", "1"});
  EXPECT_TRUE(takes({"DEL", "seen"}));
  EXPECT_TRUE(takes({"DEL", "a", "seen"}));
  EXPECT_FALSE(takes({"DEL", "a"}));
}

// However many one client sends at once: others are served between two turns.
TEST_F(FilledCommandsTest, are_held_for_the_next_turn_after_so_many_that_make_or_drop_a_filter) {
  for (std::size_t turn = 0; turn < 3; ++turn) {
    for (std::size_t i = 0; i < Filled::kWholePerTurn; ++i) {
      ASSERT_NE(i % 2 == 0 ? reply({"BF.RESERVE", "bf:x", "0.01", "10"}) : reply({"DEL", "bf:x"}),
                "");
    }
    EXPECT_EQ(decide({"BF.RESERVE", "bf:x", "0.01", "10"}).action, Action::hold_for_client);
    EXPECT_EQ(decide({"BF.ADD", "bf:new", "1"}).action, Action::hold_for_client);
    EXPECT_EQ(reply({"BF.EXISTS", "bf:x", "1"}), ":0\r\n") << "these cost little";
    shop_.now += std::chrono::milliseconds(1);
  }
}

struct Spoken {
  Words words;
  std::string_view resp2;
  std::string_view resp3 = {};  // empty: the same
};

// In this order, twice: as a client of RESP2 and of RESP3 hears them.
TEST_F(FilledCommandsTest, reply_in_the_bytes_of_redis_bloom) {
  using W = Words;
  const Spoken spoken[] = {
      {W{"BF.EXISTS", "bf:a", "1"}, ":0\r\n", "#f\r\n"},
      {W{"BF.MEXISTS", "bf:a", "1", "2"}, "*2\r\n:0\r\n:0\r\n", "*2\r\n#f\r\n#f\r\n"},
      {W{"BF.CARD", "bf:a"}, ":0\r\n"},
      {W{"BF.INFO", "bf:a"}, "-ERR not found\r\n"},
      {W{"BF.RESERVE", "bf:a", "0.01", "1000"}, "+OK\r\n"},
      {W{"BF.RESERVE", "bf:a", "0.01", "1000"}, "-ERR item exists\r\n"},
      {W{"BF.RESERVE", "seen", "0.01", "1000"}, "-ERR item exists\r\n"},
      {W{"BF.RESERVE", "bf:b", "x", "1000"}, "-ERR bad error rate\r\n"},
      {W{"BF.RESERVE", "bf:b", "1", "1000"}, "-ERR (0 < error rate range < 1) \r\n"},
      {W{"BF.RESERVE", "bf:b", "0.1", "x"}, "-ERR bad capacity\r\n"},
      {W{"BF.RESERVE", "bf:b", "0.1", "0"}, "-ERR (capacity should be larger than 0)\r\n"},
      {W{"BF.RESERVE", "bf:b", "0.1", "9", "NONSCALING", "EXPANSION", "2"},
       "-Nonscaling filters cannot expand\r\n"},
      {W{"BF.RESERVE", "bf:b", "0.1"},
       "-ERR wrong number of arguments for 'bf.reserve' command\r\n"},
      {W{"BF.ADD", "bf:a", "1"}, ":1\r\n", "#t\r\n"},
      {W{"BF.ADD", "bf:a", "1"}, ":0\r\n", "#f\r\n"},
      {W{"BF.MADD", "bf:a", "1", "2", "2"}, "*3\r\n:0\r\n:1\r\n:0\r\n", "*3\r\n#f\r\n#t\r\n#f\r\n"},
      {W{"BF.EXISTS", "bf:a", "2"}, ":1\r\n", "#t\r\n"},
      {W{"BF.CARD", "bf:a"}, ":2\r\n"},
      {W{"BF.INFO", "bf:a", "ITEMS"}, "*1\r\n:2\r\n", "%1\r\n+Number of items inserted\r\n:2\r\n"},
      {W{"BF.INFO", "bf:a", "WHAT"}, "-Invalid information value\r\n"},
      {W{"BF.INSERT", "bf:c", "NOCREATE", "ITEMS", "1"}, "-ERR not found\r\n"},
      {W{"BF.INSERT",
         "bf:c",
         "CAPACITY",
         "2",
         "ERROR",
         "0.001",
         "NONSCALING",
         "ITEMS",
         "1",
         "2",
         "3",
         "4"},
       "*3\r\n:1\r\n:1\r\n-ERR non scaling filter is full\r\n",
       "*3\r\n#t\r\n#t\r\n-ERR non scaling filter is full\r\n"},
      {W{"BF.ADD", "bf:c", "4"}, "-ERR non scaling filter is full\r\n"},
      {W{"BF.INFO", "bf:c", "EXPANSION"}, "*1\r\n$-1\r\n", "%1\r\n+Expansion rate\r\n_\r\n"},
      {W{"CF.ADD", "bf:a", "1"},
       "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
      {W{"CF.EXISTS", "bf:a", "1"}, ":0\r\n", "#f\r\n"},
      {W{"CF.MEXISTS", "bf:a", "1", "2"}, "*2\r\n:0\r\n:0\r\n", "*2\r\n#f\r\n#f\r\n"},
      {W{"CF.COUNT", "bf:a", "1"}, ":0\r\n"},
      {W{"CF.DEL", "bf:a", "1"}, "-Not found\r\n"},
      {W{"CF.COMPACT", "bf:a"}, "-Cuckoo filter was not found\r\n"},
      {W{"CF.EXISTS", "cf:a", "1"}, ":0\r\n", "#f\r\n"},
      {W{"CF.COUNT", "cf:a", "1"}, ":0\r\n"},
      {W{"CF.DEL", "cf:a", "1"}, "-Not found\r\n"},
      {W{"CF.INFO", "cf:a"}, "-ERR not found\r\n"},
      {W{"CF.COMPACT", "cf:a"}, "-Cuckoo filter was not found\r\n"},
      {W{"CF.RESERVE", "cf:a", "x"}, "-Bad capacity\r\n"},
      {W{"CF.RESERVE", "cf:a", "9", "BUCKETSIZE", "x"}, "-Couldn't parse BUCKETSIZE\r\n"},
      {W{"CF.RESERVE", "cf:a", "9", "MAXITERATIONS", "0"},
       "-MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.\r\n"},
      {W{"CF.RESERVE", "cf:a", "9", "EXPANSION", "x"}, "-Couldn't parse EXPANSION\r\n"},
      {W{"CF.RESERVE", "cf:a", "1000", "BUCKETSIZE", "4", "EXPANSION", "2"}, "+OK\r\n"},
      {W{"CF.RESERVE", "cf:a", "1000"}, "-ERR item exists\r\n"},
      {W{"CF.ADD", "cf:a", "1"}, ":1\r\n", "#t\r\n"},
      {W{"CF.ADD", "cf:a", "1"}, ":1\r\n", "#t\r\n"},
      {W{"CF.ADDNX", "cf:a", "1"}, ":0\r\n", "#f\r\n"},
      {W{"CF.COUNT", "cf:a", "1"}, ":2\r\n"},
      {W{"CF.INSERT", "cf:a", "ITEMS", "1", "2"}, "*2\r\n:1\r\n:1\r\n", "*2\r\n#t\r\n#t\r\n"},
      {W{"CF.INSERTNX", "cf:a", "ITEMS", "1", "3"}, "*2\r\n:0\r\n:1\r\n"},
      {W{"CF.INSERT", "cf:b", "NOCREATE", "ITEMS", "1"}, "-ERR not found\r\n"},
      {W{"CF.MEXISTS", "cf:a", "3", "9"}, "*2\r\n:1\r\n:0\r\n", "*2\r\n#t\r\n#f\r\n"},
      {W{"CF.DEL", "cf:a", "3"}, ":1\r\n", "#t\r\n"},
      {W{"CF.DEL", "cf:a", "3"}, ":0\r\n", "#f\r\n"},
      {W{"CF.EXISTS", "cf:a", "3"}, ":0\r\n", "#f\r\n"},
      {W{"CF.COMPACT", "cf:a"}, "+OK\r\n"},
      {W{"CF.RESERVE", "cf:f", "2", "EXPANSION", "0"},
       "-Capacity must be at least (BucketSize * 2)\r\n"},
      {W{"CF.RESERVE", "cf:f", "2", "EXPANSION", "0", "BUCKETSIZE", "1"}, "+OK\r\n"},
      {W{"CF.INSERT", "cf:f", "ITEMS", "1", "2", "3"},
       "*3\r\n:1\r\n:1\r\n:-1\r\n",
       "*3\r\n#t\r\n#t\r\n#f\r\n"},
      {W{"CF.ADD", "cf:f", "4"}, "-Filter is full\r\n"},
      {W{"BF.SCANDUMP", "bf:z", "0"}, "-ERR not found\r\n"},
      {W{"BF.SCANDUMP", "bf:a", "x"}, "-Second argument must be numeric\r\n"},
      {W{"BF.LOADCHUNK", "bf:l", "x", "y"}, "-ERR Second argument must be numeric\r\n"},
      {W{"BF.LOADCHUNK", "bf:a", "1", "yy"}, "-ERR received bad data\r\n"},
      {W{"BF.LOADCHUNK", "bf:l", "1", "y"}, "-ERR received bad data\r\n"},
      {W{"BF.LOADCHUNK", "bf:l", "2", "y"}, "-ERR not found\r\n"},
      {W{"CF.LOADCHUNK", "cf:f", "1", "y"}, "-ERR item exists\r\n"},
      {W{"CF.LOADCHUNK", "cf:f", "2", "y"}, "-Couldn't load chunk!\r\n"},
      {W{"CF.LOADCHUNK", "cf:l", "1", "y"}, "-Invalid header\r\n"},
      {W{"CF.LOADCHUNK", "cf:l", "0", "y"}, "-Invalid position\r\n"},
      {W{"CF.SCANDUMP", "cf:f", "-1"}, "-Invalid position\r\n"},
      {W{"SISMEMBER", "x:dupefilter", "a"}, ":0\r\n"},
      {W{"SCARD", "x:dupefilter"}, ":0\r\n"},
      {W{"SADD", "x:dupefilter", "a"}, ":1\r\n"},
      {W{"SADD", "x:dupefilter", "a"}, ":0\r\n"},
      {W{"SADD", "x:dupefilter", "a", "b", "c"}, ":2\r\n"},
      {W{"SMISMEMBER", "x:dupefilter", "a", "z"}, "*2\r\n:1\r\n:0\r\n"},
      {W{"SCARD", "x:dupefilter"}, ":3\r\n"},
      {W{"sadd", "x:dupefilter"}, "-ERR wrong number of arguments for 'sadd' command\r\n"},
      {W{"TYPE", "bf:a"}, "+MBbloom--\r\n"},
      {W{"TYPE", "cf:a"}, "+MBbloomCF\r\n"},
      {W{"TYPE", "x:dupefilter"}, "+set\r\n"},
      {W{"EXISTS", "bf:a"}, ":1\r\n"},
      {W{"TTL", "bf:a"}, ":-1\r\n"},
      {W{"PERSIST", "bf:a"}, ":0\r\n"},
      {W{"EXPIRE", "bf:a", "x"}, "-ERR value is not an integer or out of range\r\n"},
      {W{"EXPIRE", "bf:a", "9223372036854775807"},
       "-ERR invalid expire time in 'expire' command\r\n"},
      {W{"EXPIRE", "bf:a", "9", "GX"}, "-ERR Unsupported option GX\r\n"},
      {W{"EXPIRE", "bf:a", "9", "NX", "gt"},
       "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n"},
      {W{"EXPIRE", "bf:a", "9", "LT", "GT"},
       "-ERR GT and LT options at the same time are not compatible\r\n"},
      {W{"EXPIRE", "bf:a", "9", "XX"}, ":0\r\n"},
      {W{"EXPIRE", "bf:a", "9", "GT"}, ":0\r\n"},
      {W{"EXPIRE", "bf:a", "200", "lt"}, ":1\r\n"},
      {W{"EXPIRE", "bf:a", "201", "LT"}, ":0\r\n"},
      {W{"EXPIRE", "bf:a", "199", "GT"}, ":0\r\n"},
      {W{"EXPIRE", "bf:a", "-1", "NX"}, ":0\r\n"},
      {W{"TTL", "bf:a"}, ":200\r\n"},
      {W{"TTL", "bf:a", "x"}, "-ERR wrong number of arguments for 'ttl' command\r\n"},
      {W{"EXPIRE", "bf:a", "100"}, ":1\r\n"},
      {W{"TTL", "bf:a"}, ":100\r\n"},
      {W{"PTTL", "bf:a"}, ":100000\r\n"},
      {W{"PERSIST", "bf:a"}, ":1\r\n"},
      {W{"PEXPIREAT", "bf:a", "1700000009000"}, ":1\r\n"},
      {W{"TTL", "bf:a"}, ":9\r\n"},
      {W{"DEL", "bf:a"}, ":1\r\n"},
      {W{"BF.EXISTS", "bf:a", "1"}, ":0\r\n", "#f\r\n"},
      {W{"UNLINK", "cf:a"}, ":1\r\n"},
      {W{"PEXPIRE", "cf:f", "-1"}, ":1\r\n"},
      {W{"DEL", "x:dupefilter"}, ":1\r\n"},
      {W{"SADD", "x:dupefilter", "a"}, ":1\r\n"},
  };
  for (const Spoken& each : spoken) {
    EXPECT_EQ(reply(each.words), each.resp2) << each.words.begin()[0] << each.words.begin()[1];
  }
  filled_.filters.clear();
  shop_.send({"HELLO", "3"}, '%');
  shop_.now += std::chrono::milliseconds(1);
  for (const Spoken& each : spoken) {
    EXPECT_EQ(reply(each.words), each.resp3.empty() ? each.resp2 : each.resp3)
        << each.words.begin()[0] << each.words.begin()[1];
  }
}

TEST_F(FilledCommandsTest, make_named_filters_as_the_configuration_says) {
  EXPECT_EQ(reply({"BF.INSERT", "seen", "CAPACITY", "5", "ITEMS", "1"}), "*1\r\n:1\r\n");
  EXPECT_TRUE(reply({"BF.INFO", "seen"}).contains("Capacity\r\n:1"));
  EXPECT_EQ(filled_.filters.directory()->find("seen")->second.filter->shape().capacity, 1000U);
  EXPECT_EQ(reply({"CF.ADD", "ids", "1"}), ":1\r\n");
  EXPECT_TRUE(filled_.filters.directory()->find("ids")->second.filter->shape().exact);
  EXPECT_EQ(reply({"CF.ADD", "seen", "1"}),
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
}

TEST_F(FilledCommandsTest, refuse_what_cannot_be_done_with_a_filter) {
  (void)reply({"SADD", "x:dupefilter", "a"});
  (void)reply({"BF.ADD", "bf:a", "a"});
  for (const Words& words : {Words{"SMEMBERS", "x:dupefilter"},
                             Words{"SREM", "x:dupefilter", "a"},
                             Words{"RENAME", "bf:a", "bf:b"},
                             Words{"RENAME", "k", "bf:a"},
                             Words{"SUNIONSTORE", "k", "l", "x:dupefilter"},
                             Words{"SMOVE", "k", "x:dupefilter", "a"},
                             Words{"COPY", "bf:a", "k"}}) {
    EXPECT_TRUE(reply(words).contains("one of its keys is a filter of the guard"))
        << *words.begin() << reply(words);
  }
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "a"}), ":1\r\n");
}

// --- what Redis has ---

TEST_F(FilledCommandsTest, of_a_key_that_redis_has_are_of_the_wrong_type) {
  const Words refused[] = {{"BF.RESERVE", "bf:a", "0.01", "100"},
                           {"BF.ADD", "bf:a", "1"},
                           {"BF.INSERT", "bf:a", "NOCREATE", "ITEMS", "1"},
                           {"BF.CARD", "bf:a"},
                           {"BF.INFO", "bf:a", "WHAT"},
                           {"BF.DEBUG", "bf:a"},
                           {"BF.SCANDUMP", "bf:a", "x"},
                           {"BF.LOADCHUNK", "bf:a", "2", "y"},
                           {"CF.RESERVE", "cf:a", "100"},
                           {"CF.ADDNX", "cf:a", "1"},
                           {"CF.LOADCHUNK", "cf:a", "1", "y"}};
  redis_says_ = ":1\r\n";
  for (const Words& words : refused) {
    EXPECT_EQ(reply(words),
              "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")
        << *words.begin();
    EXPECT_EQ(asked_, "EXISTS " + std::string(words.begin()[1]));
  }
  EXPECT_TRUE(filled_.filters.directory()->empty());
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":0\r\n");
  EXPECT_EQ(reply({"CF.DEL", "cf:a", "1"}), "-Not found\r\n");
  EXPECT_EQ(reply({"BF.ADD", "bf:a", "1", "2"}),
            "-ERR wrong number of arguments for 'bf.add' command\r\n");
  EXPECT_EQ(asked_, "") << "that comes first";
  redis_says_ = "-NOPERM\r\n";
  EXPECT_EQ(reply({"BF.ADD", "bf:a", "1"}), ":1\r\n") << "it does not say so";
  EXPECT_EQ(reply({"BF.ADD", "bf:a", "2"}), ":1\r\n");
  EXPECT_EQ(asked_, "") << "a filter has it";
}

TEST_F(FilledCommandsTest, of_several_keys_count_filters_and_what_redis_counts) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  (void)reply({"CF.ADD", "cf:a", "1"});
  redis_says_ = ":2\r\n";
  EXPECT_EQ(reply({"EXISTS", "bf:a", "k", "bf:a", "l"}), ":4\r\n");
  EXPECT_EQ(asked_, "EXISTS k l");
  EXPECT_EQ(reply({"TOUCH", "bf:a", "cf:a"}), ":2\r\n");
  EXPECT_EQ(asked_, "");
  EXPECT_EQ(reply({"DEL", "k", "bf:a", "cf:a", "bf:a"}), ":4\r\n");
  EXPECT_EQ(asked_, "DEL k");
  EXPECT_TRUE(filled_.filters.directory()->empty());
  (void)reply({"SADD", "x:dupefilter", "1"});
  redis_says_ = "-READONLY\r\n";
  EXPECT_EQ(reply({"UNLINK", "k", "x:dupefilter"}), "-READONLY\r\n");
  EXPECT_FALSE(filled_.filters.directory()->empty());
}

TEST_F(FilledCommandsTest, are_gone_when_redis_has_lost_its_keys) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  redis_says_ = "-NOPERM\r\n";
  EXPECT_EQ(reply({"FLUSHALL"}), "-NOPERM\r\n");
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":1\r\n");
  redis_says_ = "+OK\r\n";
  EXPECT_EQ(reply({"FLUSHDB", "ASYNC"}), "+OK\r\n");
  EXPECT_EQ(asked_, "FLUSHDB ASYNC");
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":0\r\n");
}

TEST_F(FilledCommandsTest, dump_a_filter_in_pieces_that_another_one_is_loaded_from) {
  (void)reply({"CF.RESERVE", "cf:a", "60000"});
  for (int i = 0; i < 1000; ++i) {
    (void)reply({"CF.ADD", "cf:a", std::to_string(i)});
  }
  std::string next = "0";
  int pieces = 0;
  for (;;) {
    const std::string got = reply({"CF.SCANDUMP", "cf:a", next});
    ASSERT_TRUE(got.starts_with("*2\r\n:")) << got;
    next = got.substr(5, got.find('\r', 5) - 5);
    if (next == "0") {
      EXPECT_EQ(got, "*2\r\n:0\r\n$-1\r\n");
      break;
    }
    const std::size_t bytes = got.find("\r\n", got.find('$')) + 2;
    ASSERT_EQ(reply({"CF.LOADCHUNK", "cf:b", next, got.substr(bytes, got.size() - bytes - 2)}),
              "+OK\r\n");
    ++pieces;
  }
  EXPECT_GT(pieces, 1);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(reply({"CF.EXISTS", "cf:b", std::to_string(i)}), ":1\r\n");
  }
  EXPECT_EQ(reply({"CF.SCANDUMP", "cf:a", "1"}),
            "-ERR the dump does not exist any more: start again at 0\r\n");
}

// One at a time, and no more than one a second: each is as large as its filter.
TEST_F(FilledCommandsTest, make_few_dumps) {
  filled_.store.does_at_once = false;
  (void)decide({"BF.ADD", "bf:a", "1"});
  (void)decide({"BF.ADD", "bf:b", "1"});
  filled_.store.do_next();
  filled_.store.do_next();
  const auto at_once = [&](Words words) { return decide(words).action == Action::answer; };
  EXPECT_FALSE(at_once({"BF.SCANDUMP", "bf:a", "0"}));
  EXPECT_FALSE(at_once({"BF.SCANDUMP", "bf:a", "0"}));
  EXPECT_FALSE(at_once({"BF.SCANDUMP", "bf:b", "0"}));
  EXPECT_EQ(filled_.store.waiting(), 1U);
  filled_.store.do_next();
  EXPECT_TRUE(at_once({"BF.SCANDUMP", "bf:a", "0"}));
  EXPECT_TRUE(at_once({"BF.SCANDUMP", "bf:a", "1"}));
  EXPECT_FALSE(at_once({"BF.SCANDUMP", "bf:b", "0"}));
  EXPECT_EQ(filled_.store.waiting(), 0U);
  shop_.now += Filled::kDumpEvery;
  filled_.store.does_at_once = true;
  EXPECT_TRUE(at_once({"BF.SCANDUMP", "bf:b", "0"}));
}

// What comes behind its end is none of what was there.
TEST_F(FilledCommandsTest, begin_anew_behind_their_end) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  (void)reply({"PEXPIRE", "bf:a", "1000"});
  filled_.wall_time += 1000;
  EXPECT_EQ(reply({"BF.ADD", "bf:a", "1"}), ":1\r\n");
  EXPECT_TRUE(filled_.filters.expired(filled_.wall_time).empty());
  EXPECT_EQ(reply({"TTL", "bf:a"}), ":-1\r\n");
}

TEST_F(FilledCommandsTest, filters_end_at_their_time) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  (void)reply({"PEXPIRE", "bf:a", "1000"});
  filled_.wall_time += 999;
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":1\r\n");
  filled_.wall_time += 1;
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":0\r\n");
  EXPECT_FALSE(takes({"TTL", "bf:a"}));
}

// --- what goes by way of a log ---

TEST_F(FilledCommandsTest, promise_a_reply_until_it_is_known) {
  filled_.store.does_at_once = false;
  const OwnDecision first = decide({"BF.ADD", "bf:a", "1"});
  const OwnDecision second = decide({"BF.ADD", "bf:a", "1"});
  ASSERT_EQ(first.action, Action::promise);
  EXPECT_EQ(written(first), "");
  has_promises_ = true;
  EXPECT_EQ(decide({"BF.EXISTS", "bf:a", "1"}).action, Action::hold_for_client)
      << "it must see what was added before it";
  filled_.store.do_next();
  filled_.store.do_next();
  EXPECT_EQ(written(first), ":1\r\n");
  EXPECT_EQ(written(second), ":0\r\n");
  has_promises_ = false;
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":1\r\n");
}

// Else it would leave before that of the command in front of it.
TEST_F(FilledCommandsTest, promise_what_is_known_at_once_behind_other_promises) {
  (void)reply({"BF.RESERVE", "bf:a", "0.01", "10"});
  has_promises_ = true;
  const OwnDecision decision = decide({"BF.ADD", "bf:a", "1"});
  EXPECT_EQ(decision.action, Action::promise);
  EXPECT_EQ(written(decision), ":1\r\n");
}

TEST_F(FilledCommandsTest, say_why_something_was_not_done) {
  filled_.store.does_at_once = false;
  for (const auto status :
       {filled::Outcome::Status::not_in_log, filled::Outcome::Status::unknown}) {
    const OwnDecision add = decide({"BF.ADD", "bf:a", "1"});
    filled_.store.refuse_next(status, "Redis is not there");
    EXPECT_EQ(written(add), "-ERR Redis is not there\r\n");
  }
}

// A page that is fetched twice is better than one that is lost.
TEST_F(FilledCommandsTest, of_a_set_say_that_a_member_is_new_where_it_is_not_known) {
  filled_.store.does_at_once = false;
  const OwnDecision add = decide({"SADD", "x:dupefilter", "a", "b"});
  filled_.store.refuse_next(filled::Outcome::Status::not_in_log, "Redis is not there");
  EXPECT_EQ(written(add), ":2\r\n");
  filled_.store.does_at_once = true;
  (void)reply({"SADD", "x:dupefilter", "a"});
  filled_.store.current = false;
  EXPECT_EQ(reply({"SISMEMBER", "x:dupefilter", "a"}), ":0\r\n");
}

TEST_F(FilledCommandsTest, say_that_an_item_may_be_there_where_something_may_be_missing) {
  filled_.store.current = false;
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":1\r\n");
  EXPECT_EQ(reply({"CF.MEXISTS", "cf:a", "1", "2"}), "*2\r\n:1\r\n:1\r\n");
}

// --- who, and how much ---

TEST_F(FilledCommandsTest, are_for_users_who_may_do_everything_and_for_those_who_are_named) {
  allow({});
  EXPECT_TRUE(reply({"BF.ADD", "bf:a", "1"}).starts_with("-NOPERM this user has no permissions"));
  EXPECT_TRUE(filled_.filters.directory()->empty());
  config::FilledFilters settings = FilledShop::settings();
  settings.users = {"default"};
  shop_.make_commands();
  const FilledShop other(shop_, settings);
  EXPECT_EQ(reply({"BF.ADD", "bf:a", "1"}), ":1\r\n");
}

TEST_F(FilledCommandsTest, wait_until_it_is_known_who_asks) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.default_needs_no_password = true});
  EXPECT_EQ(decide({"BF.ADD", "bf:a", "1"}).action, Action::hold_for_client);
  since_ = shop_.now - kKnowPatience;
  EXPECT_TRUE(reply({"BF.ADD", "bf:a", "1"}).starts_with("-ERR rights unknown"));
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), "-NOAUTH Authentication required.\r\n");
}

TEST_F(FilledCommandsTest, are_bounded_in_number_and_bytes) {
  config::FilledFilters settings = FilledShop::settings();
  settings.max_filters = 2;
  settings.max_memory = 1'000'000;
  shop_.make_commands();
  FilledShop small(shop_, settings);
  EXPECT_EQ(reply({"BF.RESERVE", "bf:a", "0.01", "1000"}), "+OK\r\n");
  EXPECT_TRUE(reply({"BF.RESERVE", "bf:b", "0.01", "100000000"}).contains("filters.max_memory"));
  EXPECT_TRUE(reply({"BF.INSERT", "bf:b", "CAPACITY", "100000000", "ITEMS", "1"})
                  .contains("filters.max_memory"));
  EXPECT_EQ(reply({"BF.ADD", "bf:b", "1"}), ":1\r\n");
  EXPECT_TRUE(reply({"SADD", "x:dupefilter", "1"}).contains("filters.max_filters"));
  std::string last;
  for (int i = 0; i < 500'000 && !last.contains("max_memory"); ++i) {
    last = reply({"BF.ADD", "bf:a", std::to_string(i)});
  }
  EXPECT_TRUE(last.contains("filters.max_memory")) << "it grows no more";
  EXPECT_EQ(reply({"BF.EXISTS", "bf:a", "1"}), ":1\r\n");
}

TEST_F(FilledCommandsTest, that_change_are_counted_when_their_reply_is_written) {
  const FilledCounts& counts = filled_.filled().counts();
  (void)reply({"BF.ADD", "seen", "1"});
  (void)reply({"BF.EXISTS", "seen", "1"});
  EXPECT_EQ(counts.of(0), 1U);
  filled_.store.does_at_once = false;
  const OwnDecision promised = decide({"BF.ADD", "seen", "2"});
  filled_.store.do_next();
  EXPECT_EQ(counts.of(0), 1U);
  EXPECT_EQ(written(promised), ":1\r\n");
  EXPECT_EQ(counts.of(0), 2U);
}

TEST_F(FilledCommandsTest, are_none_that_redis_knows_where_they_cannot_be_answered) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  shop_.send({"MULTI"}, '+');
  redis_says_ = "-ERR unknown command\r\n";
  EXPECT_THAT(reply({"BF.ADD", "bf:a", "1"}), HasSubstr("'bf.add' of a filter of the guard"));
  EXPECT_EQ(asked_, "GUARD.BF.ADD bf:a 1");
  EXPECT_THAT(reply({"DEL", "bf:a"}), HasSubstr("not allowed inside MULTI"));
  EXPECT_EQ(asked_, "GUARD.DEL bf:a");
  EXPECT_EQ(decide({"FLUSHALL"}).action, Action::forward) << "queued as it is";
  EXPECT_EQ(instead({"FLUSHALL"}), "");
}

TEST_F(FilledCommandsTest, that_may_be_of_a_filter_wait_while_it_is_not_known) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  filled_.store.current = false;
  for (const Words& words :
       {Words{"DEL", "bf:new"}, Words{"TYPE", "bf:a"}, Words{"BF.CARD", "bf:a"}}) {
    since_ = shop_.now;
    EXPECT_EQ(decide(words).action, Action::hold_for_client) << *words.begin();
    since_ = shop_.now - kKnowPatience;
    EXPECT_TRUE(reply(words).starts_with("-ERR filter state is stale")) << *words.begin();
  }
  EXPECT_FALSE(takes({"DEL", "other"}));
}

TEST_F(FilledCommandsTest, look_at_keys_alone) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  EXPECT_FALSE(takes({"EXPIRE", "k", "bf:a"}));
  EXPECT_FALSE(takes({"SADD", "k", "x:dupefilter"}));
  EXPECT_TRUE(takes({"RENAME", "k", "bf:a"}));
  EXPECT_TRUE(takes({"OBJECT", "ENCODING", "bf:a"}));
  EXPECT_FALSE(takes({"BF.ADD", "bf:" + std::string(600, 'a'), "1"}));
}

TEST_F(FilledCommandsTest, of_another_db_the_key_is_any_key) {
  (void)reply({"BF.ADD", "bf:a", "1"});
  shop_.send({"SELECT", "2"}, '+');
  EXPECT_EQ(decide({"DEL", "bf:a"}).action, Action::forward);
  EXPECT_EQ(instead({"DEL", "bf:a"}), "");
  EXPECT_EQ(decide({"FLUSHDB"}).action, Action::forward);
  redis_says_ = "+OK\r\n";
  (void)reply({"FLUSHALL"});
  EXPECT_EQ(asked_, "FLUSHALL") << "of all of them";
  shop_.send({"MULTI"}, '+');
  EXPECT_EQ(instead({"SADD", "x:dupefilter", "a"}), "") << "it is Redis's there";
}

TEST_F(FilledCommandsTest, above_64_kib_are_recognised_by_their_front) {
  EXPECT_FALSE(may_take_large({"BF.MADD"}));
  const Words name{"BF.MADD"};
  EXPECT_TRUE(shop_.commands->must_see_key(std::span(name.begin(), name.size())));
  EXPECT_TRUE(may_take_large({"BF.MADD", "bf:a"}));
  EXPECT_TRUE(may_take_large({"SADD", "x:dupefilter", "a"}));
  EXPECT_FALSE(may_take_large({"BF.MADD", "else"}));
  EXPECT_FALSE(may_take_large({"SET"}));
  EXPECT_FALSE(may_take_large({}));
}

}  // namespace
}  // namespace cuckooguard::guard
