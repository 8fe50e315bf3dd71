// The family of guard/filter_commands.cpp.
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "own_command_client.h"

namespace cuckooguard::guard {
namespace {

// `users` and `items` stand for the namespaces of these names, `carts` for one in db 2.
class FilterCommandsTest : public OwnCommandClient {
 protected:
  FilterCommandsTest() {
    shop_.spaces[GuardedShop::kUsers].filter_key = "users";
    shop_.spaces[GuardedShop::kItems].filter_key = "items";
    shop_.spaces[GuardedShop::kCarts].filter_key = "carts";
    shop_.guard->adopt(shop_.guard->parts());
  }

  using Action = OwnDecision::Action;
  using Words = std::initializer_list<std::string_view>;
  // Those of a row, of none, and of one that no key can have.
  std::string exists() { return reply({"BF.MEXISTS", "users", "7", "500", "x"}); }

  static constexpr std::string_view kOnlyAbsentIsZero = "*3\r\n:1\r\n:0\r\n:1\r\n";
  static constexpr std::string_view kAllMayExist = "*3\r\n:1\r\n:1\r\n:1\r\n";
};

TEST_F(FilterCommandsTest, are_those_of_a_key_that_a_namespace_names) {
  EXPECT_TRUE(takes({"BF.EXISTS", "users", "1"}));
  EXPECT_TRUE(takes({"cf.anything", "items"}));
  EXPECT_FALSE(takes({"BF.EXISTS", "orders", "1"}));
  EXPECT_TRUE(takes({"BF.EXISTS"})) << "to say that it has too few arguments";
  EXPECT_FALSE(takes({"BF.ANYTHING"}));
  EXPECT_FALSE(takes({"GET", "users"}));
  EXPECT_FALSE(takes({"XF.EXISTS", "users", "1"}));
  EXPECT_FALSE(takes({"BFXEXISTS", "users", "1"}));
}

struct Spoken {
  std::initializer_list<std::string_view> words;
  std::string_view resp2;
  std::string_view resp3;
};

// As RedisBloom replies to a filter in which are 1 to 100; the numbers of INFO are this filter's.
TEST_F(FilterCommandsTest, reply_in_the_bytes_of_redis_bloom) {
  const std::string_view arity = "-ERR wrong number of arguments for 'bf.exists' command\r\n";
  const Spoken spoken[] = {
      {{"BF.EXISTS", "users", "7"}, ":1\r\n", "#t\r\n"},
      {{"bf.exists", "users", "500"}, ":0\r\n", "#f\r\n"},
      {{"BF.EXISTS", "users"}, arity, arity},
      {{"bf.exists", "users", "1", "2"}, arity, arity},
      {{"BF.MEXISTS", "users", "7", "500"}, "*2\r\n:1\r\n:0\r\n", "*2\r\n#t\r\n#f\r\n"},
      {{"CF.EXISTS", "users", "500"}, ":0\r\n", "#f\r\n"},
      {{"CF.MEXISTS", "users", "500", "7"}, "*2\r\n:0\r\n:1\r\n", "*2\r\n#f\r\n#t\r\n"},
      {{"CF.COUNT", "users", "7"}, ":1\r\n", ":1\r\n"},
      {{"CF.COUNT", "users", "500"}, ":0\r\n", ":0\r\n"},
      {{"CF.DEL", "users", "7"}, ":1\r\n", "#t\r\n"},
      {{"CF.DEL", "users", "500"}, ":0\r\n", "#f\r\n"},
      {{"BF.CARD", "users"}, ":100\r\n", ":100\r\n"},
      {{"BF.INFO", "users", "items"},
       "*1\r\n:100\r\n",
       "%1\r\n+Number of items inserted\r\n:100\r\n"},
      {{"BF.INFO", "users", "x"},
       "-Invalid information value\r\n",
       "-Invalid information value\r\n"},
      {{"BF.RESERVE", "users", "0.01", "100"}, "-ERR item exists\r\n", "-ERR item exists\r\n"},
      {{"CF.RESERVE", "users", "100"}, "-ERR item exists\r\n", "-ERR item exists\r\n"},
      {{"CF.COMPACT", "users"}, "+OK\r\n", "+OK\r\n"},
      {{"BF.ADD", "users", "7"}, ":0\r\n", "#f\r\n"},
      {{"BF.MADD", "users", "8", "9"}, "*2\r\n:0\r\n:0\r\n", "*2\r\n#f\r\n#f\r\n"},
      {{"CF.ADD", "users", "7"}, ":1\r\n", "#t\r\n"},
      {{"CF.ADDNX", "users", "7"}, ":0\r\n", "#f\r\n"},
      {{"CF.INSERT", "users", "CAPACITY", "9", "NOCREATE", "ITEMS", "7"},
       "*1\r\n:1\r\n",
       "*1\r\n#t\r\n"},
      {{"CF.INSERTNX", "users", "ITEMS", "7"}, "*1\r\n:0\r\n", "*1\r\n:0\r\n"},
      {{"BF.INSERT", "users", "ERROR", "0.1", "EXPANSION", "2", "NONSCALING", "items", "7"},
       "*1\r\n:0\r\n",
       "*1\r\n#f\r\n"},
      {{"BF.INSERT", "users", "CAPACITY", "x", "ITEMS", "7"},
       "-Bad capacity\r\n",
       "-Bad capacity\r\n"},
      {{"BF.INSERT", "users", "ERROR", "x", "ITEMS", "7"},
       "-Bad error rate\r\n",
       "-Bad error rate\r\n"},
      {{"BF.INSERT", "users", "WHAT", "7"},
       "-Unknown argument received\r\n",
       "-Unknown argument received\r\n"},
      {{"CF.INSERT", "users", "ERROR", "0.1", "ITEMS", "7"},
       "-Unknown argument received\r\n",
       "-Unknown argument received\r\n"},
      {{"bf.insert", "users", "NOCREATE", "ITEMS"},
       "-ERR wrong number of arguments for 'bf.insert' command\r\n",
       "-ERR wrong number of arguments for 'bf.insert' command\r\n"},
  };
  for (const Spoken& each : spoken) {
    EXPECT_EQ(reply(each.words), each.resp2) << *each.words.begin();
  }
  shop_.send({"HELLO", "3"}, '%');
  for (const Spoken& each : spoken) {
    EXPECT_EQ(reply(each.words), each.resp3) << *each.words.begin();
  }
}

TEST_F(FilterCommandsTest, info_is_a_map_of_what_redis_bloom_names) {
  const std::string bloom = reply({"BF.INFO", "users"});
  EXPECT_TRUE(bloom.starts_with("*10\r\n+Capacity\r\n:")) << bloom;
  EXPECT_TRUE(bloom.contains("+Number of filters\r\n:1\r\n+Number of items inserted\r\n:100\r\n"))
      << bloom;
  const std::string cuckoo = reply({"CF.INFO", "users"});
  EXPECT_TRUE(cuckoo.starts_with("*16\r\n+Size\r\n:")) << cuckoo;
  EXPECT_TRUE(cuckoo.contains("+Number of items inserted\r\n:100\r\n")) << cuckoo;
  shop_.send({"HELLO", "3"}, '%');
  EXPECT_TRUE(reply({"BF.INFO", "users"}).starts_with("%5\r\n"));
  EXPECT_TRUE(reply({"CF.INFO", "users"}).starts_with("%8\r\n"));
}

TEST_F(FilterCommandsTest, no_filter_of_a_database_is_dumped_or_loaded) {
  for (const Words& words : {Words{"BF.SCANDUMP", "users", "0"},
                             Words{"CF.SCANDUMP", "users", "0"},
                             Words{"BF.LOADCHUNK", "users", "1", "x"},
                             Words{"CF.LOADCHUNK", "users", "1", "x"}}) {
    EXPECT_TRUE(reply(words).starts_with("-ERR the filter of namespace 'users' follows"));
  }
}

TEST_F(FilterCommandsTest, what_was_added_may_exist_for_a_while) {
  EXPECT_EQ(reply({"BF.ADD", "users", "500"}), ":1\r\n");
  EXPECT_EQ(reply({"BF.EXISTS", "users", "500"}), ":1\r\n");
  EXPECT_EQ(reply({"BF.ADD", "users", "500"}), ":0\r\n");
  EXPECT_FALSE(shop_.answers({"GET", "user:500"})) << "its key passes";
  EXPECT_EQ(reply({"CF.INSERTNX", "users", "ITEMS", "501", "501"}), "*2\r\n:1\r\n:0\r\n");
  shop_.now += seconds(61);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(1));
  EXPECT_EQ(reply({"BF.EXISTS", "users", "500"}), ":0\r\n") << "the database is the truth";
}

TEST_F(FilterCommandsTest, say_that_all_may_exist_where_a_key_would_pass) {
  ASSERT_EQ(exists(), kOnlyAbsentIsZero);
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  EXPECT_EQ(exists(), kAllMayExist) << "observe";
  EXPECT_EQ(reply({"BF.ADD", "users", "600"}), ":0\r\n") << "perhaps it is there";
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::enforce;
  ASSERT_EQ(exists(), kOnlyAbsentIsZero);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  EXPECT_EQ(exists(), kAllMayExist) << "not fresh";
}

TEST_F(FilterCommandsTest, an_item_that_is_none_of_its_keys_may_exist) {
  EXPECT_EQ(reply({"BF.EXISTS", "items", "plum"}), ":0\r\n");
  EXPECT_EQ(reply({"BF.EXISTS", "items", "a:plum"}), ":1\r\n") << "no {sku} has a ':'";
  EXPECT_EQ(reply({"BF.EXISTS", "users", "0500"}), ":1\r\n") << "a database may take it for 500";
  EXPECT_EQ(reply({"BF.EXISTS", "users", ""}), ":1\r\n");
}

TEST_F(FilterCommandsTest, count_as_reads_of_keys) {
  (void)exists();
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, Verdict::absent), 1U);
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, Verdict::may_exist), 1U);
}

TEST_F(FilterCommandsTest, of_another_db_the_key_is_any_key) {
  EXPECT_EQ(decide({"BF.EXISTS", "carts", "500"}).action, Action::forward);
  EXPECT_EQ(instead({"BF.EXISTS", "carts", "500"}), "");
  EXPECT_EQ(decide({"BF.WHAT", "carts", "500"}).action, Action::forward);
  EXPECT_EQ(instead({"BF.WHAT", "carts", "500"}), "");
  shop_.send({"SELECT", "2"}, '+');
  EXPECT_EQ(reply({"BF.EXISTS", "carts", "500"}), ":0\r\n");
  EXPECT_EQ(decide({"BF.EXISTS", "users", "500"}).action, Action::forward);
}

// A Redis with the commands, but without the filter, would say that nothing exists.
TEST_F(FilterCommandsTest, are_none_that_redis_knows_where_they_cannot_be_answered) {
  EXPECT_EQ(instead({"BF.WHAT", "users", "1"}), "GUARD.BF.WHAT users 1");
  shop_.send({"MULTI"}, '+');
  redis_says_ = "-ERR unknown command\r\n";
  EXPECT_TRUE(reply({"bf.exists", "users", "500"}).contains("not allowed inside MULTI"));
  EXPECT_EQ(asked_, "GUARD.bf.exists users 500");
  (void)reply({"BF.EXISTS", "carts", "500"});
  EXPECT_EQ(asked_, "GUARD.BF.EXISTS carts 500") << "SELECT may have been queued";
  EXPECT_EQ(instead({"BF.WHAT", "users", "1"}), "GUARD.BF.WHAT users 1");
}

// What cannot be held, of a client that does not read, must not reach Redis either.
TEST_F(FilterCommandsTest, what_waits_is_none_that_redis_knows) {
  has_room_ = false;
  const OwnDecision decision = decide({"BF.EXISTS", "users", "7"});
  EXPECT_EQ(decision.action, Action::hold_for_client);
  ASSERT_EQ(decision.instead.size(), 3U);
  EXPECT_EQ(decision.instead.front(), "GUARD.BF.EXISTS");
}

TEST_F(FilterCommandsTest, of_a_large_command_its_name_is_enough) {
  EXPECT_TRUE(may_take_large({"BF.MEXISTS", "users", "1"}));
  EXPECT_TRUE(may_take_large({"BF.MEXISTS"})) << "its key may be one of them";
  EXPECT_FALSE(may_take_large({"BF.MEXISTS", "other"}));
  EXPECT_FALSE(may_take_large({"BF.MEXISTS", "carts"})) << "another db";
  EXPECT_FALSE(may_take_large({"SADD"}));
  EXPECT_FALSE(may_take_large({}));
  for (GuardedNamespace& space : shop_.spaces) {
    space.filter_key.clear();
  }
  shop_.guard->adopt(shop_.guard->parts());
  EXPECT_FALSE(may_take_large({"BF.MEXISTS"})) << "no namespace has any";
}

TEST_F(FilterCommandsTest, say_what_the_database_has_also_where_redis_is_asked_first) {
  shop_.spaces[GuardedShop::kUsers].order = config::Order::redis_first;
  EXPECT_EQ(exists(), kOnlyAbsentIsZero);
}

TEST_F(FilterCommandsTest, a_first_chunk_names_a_command_that_redis_does_not_know) {
  const std::string chunk = "*9999\r\n$10\r\nBF.MEXISTS\r\n$5\r\nusers\r\n$1\r\n7\r\n";
  const std::string_view name = std::string_view(chunk).substr(chunk.find("BF."), 10);
  const std::string_view words[] = {name, "users", "7"};
  EXPECT_EQ(shop_.commands->unknown_to_redis(words, chunk),
            "*9999\r\n$16\r\nGUARD.BF.MEXISTS\r\n$5\r\nusers\r\n$1\r\n7\r\n");
}

TEST_F(FilterCommandsTest, wait_for_changes_in_flight_and_for_room) {
  const redis::StateChange change = shop_.send({"SELECT", "2"});
  EXPECT_EQ(decide({"BF.EXISTS", "users", "500"}).action, Action::hold_for_client);
  shop_.client.replied(change, '-');
  EXPECT_EQ(reply({"BF.EXISTS", "users", "500"}), ":0\r\n");
  has_room_ = false;
  EXPECT_EQ(decide({"BF.EXISTS", "users", "500"}).action, Action::hold_for_client);
}

TEST_F(FilterCommandsTest, who_may_not_get_the_keys_is_refused_as_redis_would) {
  redis::UserAccess access;
  access.on_readable.set();
  access.on_writable.set();
  access.namespaces.assign(4, redis::KeyAccess::none);
  access.reads_no_key.assign(4, true);
  allow(std::move(access));
  EXPECT_TRUE(reply({"BF.EXISTS", "users", "500"}).starts_with("-NOPERM "));
  EXPECT_TRUE(reply({"BF.ADD", "users", "500"}).starts_with("-NOPERM "));
}

TEST_F(FilterCommandsTest, who_is_not_logged_in_is_told_so) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  EXPECT_EQ(reply({"BF.EXISTS", "users", "500"}), "-NOAUTH Authentication required.\r\n");
}

// In doubt it may exist; but nothing is added for somebody of whom nothing is known.
TEST_F(FilterCommandsTest, of_whose_rights_nothing_is_known_all_may_exist) {
  allow({});
  EXPECT_EQ(exists(), kAllMayExist);
  shop_.facts.withdraw_users();
  EXPECT_EQ(exists(), kAllMayExist);
  EXPECT_EQ(decide({"BF.ADD", "users", "500"}).action, Action::hold_for_client);
  shop_.now += kKnowPatience;
  EXPECT_TRUE(reply({"BF.ADD", "users", "500"}).starts_with("-ERR rights unknown"));
}

}  // namespace
}  // namespace cuckooguard::guard
