// What the guard learns from writes: keys that pass although the filter has not heard of them.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using Words = std::vector<std::string_view>;

class GuardLearnedKeys : public testing::TestWithParam<Words> {
 protected:
  GuardedShop shop_;
};

// In each command user:500 and user:501 are its guarded keys.
TEST_P(GuardLearnedKeys, pass_for_the_client_from_the_next_command_on) {
  ASSERT_TRUE(shop_.answers({"GET", "user:500"}));
  const Decision write = shop_.decide(GetParam());
  EXPECT_EQ(write.action, Action::forward);
  EXPECT_EQ(write.change, nullptr);
  EXPECT_TRUE(write.awaits_reply);
  EXPECT_EQ(shop_.decide({"MGET", "user:500", "user:501"}).action, Action::forward);
  EXPECT_TRUE(shop_.answers({"GET", "user:502"})) << "another key";
  EXPECT_TRUE(shop_.answers_others({"MGET", "user:500", "user:501"}));
}

TEST_P(GuardLearnedKeys, pass_for_all_once_redis_has_replied) {
  shop_.write(GetParam());
  for (const std::string_view key : {"user:500", "user:501"}) {
    EXPECT_FALSE(shop_.answers_others({"GET", key})) << key;
    EXPECT_FALSE(shop_.answers({"GET", key})) << key;
  }
  EXPECT_TRUE(shop_.answers_others({"GET", "user:502"})) << "another key";
}

INSTANTIATE_TEST_SUITE_P(
    Commands,
    GuardLearnedKeys,
    testing::ValuesIn(std::vector<Words>{
        {"MSET", "user:500", "a", "user:501", "b"},
        {"MSETNX", "user:500", "a", "user:501", "b"},
        {"DEL", "user:500", "user:501"},
        {"unlink", "user:500", "user:501"},
        {"RENAME", "user:500", "user:501"},
        {"COPY", "user:500", "user:501"},
        {"LMOVE", "user:500", "user:501", "LEFT", "LEFT"},
        {"BLPOP", "user:500", "user:501", "0"},
        {"BITOP", "AND", "user:500", "user:501"},
        {"PFMERGE", "user:500", "user:501"},
        {"SUNIONSTORE", "user:500", "user:501"},
        {"ZUNIONSTORE", "user:500", "1", "user:501"},
        {"EVAL", "return 1", "2", "user:500", "user:501"},
        {"EVALSHA", "abc", "2", "user:500", "user:501", "x"},
        {"FCALL", "f", "2", "user:500", "user:501"},
        {"ZMPOP", "2", "user:500", "user:501", "MIN"},
        {"SORT", "user:500", "BY", "nosort", "STORE", "user:501"},
        {"GEORADIUS", "user:500", "0", "0", "1", "m", "STORE", "user:501"},
        {"MIGRATE", "h", "1", "", "0", "5", "KEYS", "user:500", "user:501"},
        {"XREADGROUP", "GROUP", "g", "c", "STREAMS", "user:500", "user:501", ">", ">"},
        {"MODULE.WRITE", "x", "user:500", "user:501"},
        {"", "user:500", "user:501"},
    }));

// A cluster's client has a guard for each node.
TEST(GuardLearning, a_user_s_share_is_of_all_guards_of_a_worker) {
  const GuardedShop shop;
  Learner learner;
  Guard::Parts parts = shop.guard->parts();
  parts.learner = &learner;
  std::array<Guard, 2> guards{Guard(parts), Guard(parts)};
  std::array<Client, 8> clients;
  const auto limits = LearnedKeys::limits_for(1000, 1);
  const auto key_of = [&](std::size_t client, std::size_t i) {
    return "user:" + std::to_string((1000 * client) + i + 1000);
  };
  for (std::size_t client = 0; client < clients.size(); ++client) {
    for (std::size_t i = 0; i < limits.client; ++i) {
      ASSERT_TRUE(
          guards.at(client % 2).add(key_of(client, i), clients.at(client), shop.now, std::nullopt));
    }
  }
  std::size_t passing = 0;
  for (std::size_t client = 0; client < clients.size(); ++client) {
    for (std::size_t i = 0; i < limits.client; ++i) {
      passing += shop.answers_others({"GET", key_of(client, i)}) ? 0 : 1;
    }
  }
  EXPECT_EQ(passing, limits.user);
}

TEST(GuardLearning, writes_of_one_key) {
  for (const Words& write : std::vector<Words>{{"SET", "user:500", "x"},
                                               {"set", "user:500", "x", "EX", "60", "NX"},
                                               {"SETEX", "user:500", "60", "x"},
                                               {"SETNX", "user:500", "x"},
                                               {"GETSET", "user:500", "x"},
                                               {"GETDEL", "user:500"},
                                               {"RESTORE", "user:500", "0", "x"},
                                               {"HSET", "user:500", "f", "v"},
                                               {"EXPIRE", "user:500", "5"},
                                               {"XGROUP", "CREATE", "user:500", "g", "$"},
                                               {"INCR", "user:500"}}) {
    GuardedShop shop;
    ASSERT_TRUE(shop.answers({"GET", "user:500"}));
    shop.write(write);
    EXPECT_FALSE(shop.answers({"GET", "user:500"})) << testing::PrintToString(write);
    EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::overlaid), 1);
  }
}

TEST(GuardLearning, reads_teach_nothing) {
  GuardedShop shop;
  for (const std::string_view read : {"GET", "TTL", "HGETALL", "DUMP", "TYPE", "EXISTS"}) {
    shop.decide({read, "user:500"});
  }
  shop.decide({"EVAL_RO", "return 1", "1", "user:500"});
  shop.decide({"GETEX", "user:500", "EX", "60"});
  shop.decide({"GETEX", "user:500", "EX", "sixty"});
  shop.decide({"OBJECT", "ENCODING", "user:500"});
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardLearning, lasts_for_the_overlays_ttl) {
  GuardedShop shop;
  shop.write({"SET", "user:500", "x"});
  shop.now += seconds(60);
  shop.filters[GuardedShop::kUsers]->set_fresh_until(shop.now + seconds(10));
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  shop.now += seconds(1);
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardLearning, the_absent_reply_itself_says_nothing_of_a_row) {
  for (const Words& write : std::vector<Words>{{"SET", "item:plum", "*"},
                                               {"SET", "item:plum", "*", "NX", "EX", "60"},
                                               {"SETEX", "item:plum", "60", "*"},
                                               {"PSETEX", "item:plum", "60000", "*"},
                                               {"SETNX", "item:plum", "*"},
                                               {"GETSET", "item:plum", "*"},
                                               {"MSET", "item:plum", "*"},
                                               {"MSETNX", "other", "x", "item:plum", "*"}}) {
    GuardedShop shop;
    shop.write(write);
    EXPECT_TRUE(shop.answers({"GET", "item:plum"})) << testing::PrintToString(write);
  }
}

TEST(GuardLearning, any_other_value_is_learned) {
  for (const Words& write : std::vector<Words>{{"SET", "item:plum", "**"},
                                               {"SET", "item:plum", ""},
                                               {"SETEX", "item:plum", "*", "x"},
                                               {"MSET", "item:plum", "x", "other", "*"},
                                               {"MSET", "other", "*", "item:plum", "x"},
                                               {"APPEND", "item:plum", "*"},
                                               {"SADD", "item:plum", "*"},
                                               {"SET", "item:plum"}}) {
    GuardedShop shop;
    shop.write(write);
    EXPECT_FALSE(shop.answers({"GET", "item:plum"})) << testing::PrintToString(write);
  }
}

TEST(GuardLearning, the_bytes_of_another_namespace_or_of_nil_are_a_value) {
  GuardedShop shop;
  shop.write({"SET", "user:500", "*"});
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  shop.write({"SET", "user:501", "$-1\r\n"});
  EXPECT_FALSE(shop.answers({"GET", "user:501"}));
}

TEST(GuardLearning, a_command_without_a_value_has_none_to_be_taken_for_the_absent_reply) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kItems].absent_reply =
      AbsentReplyBytes({.nil = false, .bytes = "item:plum"});
  shop.write({"DEL", "item:plum"});
  EXPECT_FALSE(shop.answers({"GET", "item:plum"}));
}

TEST(GuardLearning, does_not_depend_on_the_clients_state) {
  GuardedShop shop;
  shop.facts.withdraw_users();
  shop.may_answer = false;
  shop.write({"SET", "user:500", "x"});
  shop.send({"MULTI"}, '+');
  shop.write({"SET", "user:501", "x"});
  shop.send({"EXEC"}, '*');
  shop.facts.publish_users(shop.facts.epoch(),
                           {.unrestricted = {"default"}, .default_needs_no_password = true});
  shop.may_answer = true;
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_FALSE(shop.answers({"GET", "user:501"}));
  EXPECT_TRUE(shop.answers({"GET", "user:502"}));
}

TEST(GuardLearning, is_by_namespace_and_identity) {
  GuardedShop shop;
  shop.write({"SET", "user:500", "x"});
  EXPECT_TRUE(shop.answers({"GET", "order:500"}));
  EXPECT_TRUE(shop.answers({"GET", "item:500"}));
}

TEST(GuardLearning, includes_keys_that_no_row_can_have) {
  GuardedShop shop;
  shop.write({"SET", "order:7abc", "x"});
  EXPECT_FALSE(shop.answers({"GET", "order:7abc"}));
  EXPECT_TRUE(shop.answers({"GET", "order:7abd"}));
}

TEST(GuardLearning, is_spared_where_nothing_is_looked_up) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::bypass;
  shop.write({"SET", "user:500", "x"});
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 0);
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  shop.write({"SET", "user:500", "x"});
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 1);
}

TEST(GuardLearning, what_redis_refuses_changes_nothing_for_anybody) {
  GuardedShop shop;
  for (const Words& write : std::vector<Words>{{"SET", "user:500", "x"},
                                               {"MSET", "user:500", "x", "user:501", "y"},
                                               {"DEL", "user:500"}}) {
    shop.write(write, '-');
    EXPECT_TRUE(shop.answers({"GET", "user:500"}));
    EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
  }
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 0);
}

// What a script has written before it failed stays written.
TEST(GuardLearning, a_script_may_have_written_although_it_failed) {
  for (const std::string_view name : {"EVAL", "EVALSHA", "FCALL", "MODULE.SET"}) {
    GuardedShop shop;
    shop.write({name, "x", "1", "user:500"}, '-');
    EXPECT_FALSE(shop.answers_others({"GET", "user:500"})) << name;
    shop.facts.publish_users(shop.facts.epoch(),
                             {.unrestricted = {"admin"}, .default_needs_no_password = false});
    shop.client = Client();
    shop.write({name, "x", "1", "user:501"}, '-');
    EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 1)
        << "not of who cannot be logged in";
  }
}

// One port for a cluster: another node has carried out its part of what one has refused.
TEST(GuardLearning, a_part_of_what_is_split_may_be_written_although_the_whole_was_refused) {
  GuardedShop shop;
  shop.facts.publish(shop.facts.epoch(),
                     {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                      .is_whole_cluster = true});
  shop.write({"DEL", "user:500", "user:501"}, '-');
  EXPECT_FALSE(shop.answers_others({"GET", "user:501"}));
  shop.write({"MSET", "user:502", "x", "user:503", "x"}, '-');
  EXPECT_FALSE(shop.answers_others({"GET", "user:502"}));
  shop.write({"SET", "user:504", "x"}, '-');
  EXPECT_TRUE(shop.answers_others({"GET", "user:504"})) << "which is not split";
}

TEST(GuardLearning, the_time_begins_with_the_reply) {
  GuardedShop shop;
  shop.decide({"BLMOVE", "list", "user:500", "LEFT", "LEFT", "0"});
  shop.client.writes()->await(++shop.replies);
  shop.now += seconds(100);
  shop.filters[GuardedShop::kUsers]->set_fresh_until(shop.now + seconds(100));
  EXPECT_FALSE(shop.answers({"GET", "user:500"})) << "it is still in flight";
  EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
  shop.reply('$');
  shop.now += seconds(60);
  EXPECT_FALSE(shop.answers_others({"GET", "user:500"}));
  shop.now += seconds(1);
  EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardLearning, a_transaction_is_learned_when_it_is_carried_out) {
  struct Case {
    std::string_view end;
    char reply;
    bool is_learned;
  };
  for (const Case& each :
       {Case{"EXEC", '*', true}, Case{"EXEC", '_', false}, Case{"DISCARD", '+', false}}) {
    GuardedShop shop;
    shop.send({"MULTI"}, '+');
    shop.write({"SET", "user:500", "x"});
    EXPECT_TRUE(shop.answers_others({"GET", "user:500"})) << "it is queued";
    const redis::StateChange end = shop.send({each.end});
    shop.now += seconds(100);
    shop.filters[GuardedShop::kUsers]->set_fresh_until(shop.now + seconds(100));
    shop.client.replied(end, each.reply);
    shop.learn();
    EXPECT_EQ(shop.answers_others({"GET", "user:500"}), !each.is_learned) << each.end << each.reply;
  }
}

TEST(GuardLearning, a_multi_that_redis_refuses_begins_no_transaction) {
  GuardedShop shop;
  const redis::StateChange multi = shop.send({"MULTI"});
  shop.decide({"SET", "user:500", "x"});
  shop.client.writes()->await(++shop.replies);
  shop.client.replied(multi, '-');
  shop.reply('+');
  EXPECT_FALSE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardLearning, an_exec_that_is_refused_ends_nothing) {
  GuardedShop shop;
  shop.send({"MULTI"}, '+');
  shop.write({"SET", "user:500", "x"});
  shop.send({"EXEC", "x"}, '-');
  shop.send({"EXEC"}, '*');
  EXPECT_FALSE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardLearning, reset_forgets_what_was_queued) {
  GuardedShop shop;
  shop.send({"MULTI"}, '+');
  shop.write({"SET", "user:500", "x"});
  shop.send({"RESET"}, '+');
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardLearning, a_client_that_goes_before_its_reply_has_written) {
  GuardedShop shop;
  shop.decide({"SET", "user:500", "x"});
  shop.client.writes()->await(++shop.replies);
  shop.guard->ended(shop.client, shop.now);
  EXPECT_FALSE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardLearning, a_client_that_goes_inside_multi_has_written_only_if_exec_is_on_its_way) {
  for (const bool has_sent_exec : {false, true}) {
    GuardedShop shop;
    shop.send({"MULTI"}, '+');
    shop.write({"SET", "user:500", "x"});
    if (has_sent_exec) {
      shop.send({"EXEC"});
    }
    shop.guard->ended(shop.client, shop.now);
    EXPECT_EQ(shop.answers_others({"GET", "user:500"}), !has_sent_exec);
  }
}

TEST(GuardLearning, with_many_keys_in_flight_all_of_the_clients_reads_pass) {
  GuardedShop shop;
  for (std::size_t i = 0; i <= WritesInFlight::kSearchedMax; ++i) {
    EXPECT_TRUE(shop.answers({"GET", "user:500"})) << i;
    shop.decide({"SET", "item:" + std::to_string(i), "x"});
    shop.client.writes()->await(++shop.replies);
  }
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
  shop.reply('-');
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardLearning, who_fills_its_share_passes_its_own_reads_for_max_lag_and_nobody_elses) {
  GuardedShop shop;
  const std::size_t share = LearnedKeys::limits_for(1000, 1).client;
  const auto write = [&shop](std::size_t number) {
    shop.write({"SET", "user:" + std::to_string(1000 + number), "x"});
  };
  for (std::size_t i = 0; i < share; ++i) {
    write(i);
  }
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  write(share);
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).lost.value(), 1);
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_EQ(shop.guard->counters().share_filled_keys.value(), 1);
  EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
  EXPECT_TRUE(shop.answers_others({"GET", "user:1000"})) << "the oldest";
  EXPECT_FALSE(shop.answers_others({"GET", "user:1001"}));
  shop.now += seconds(1);
  shop.filters[GuardedShop::kUsers]->set_fresh_until(shop.now + seconds(100));
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

// Clients of one user: those who fill its share lose what they have put there, and pass; not the
// one that writes little.
TEST(GuardLearning, of_a_users_clients_only_those_pass_that_have_filled_its_share) {
  GuardedShop shop;
  Client little;
  std::swap(shop.client, little);
  shop.write({"SET", "user:500", "x"});
  std::swap(shop.client, little);
  std::array<Client, 6> clients;
  for (int i = 0; i < 300; ++i) {
    Client& client = clients[static_cast<std::size_t>(i) % clients.size()];
    std::swap(shop.client, client);
    shop.write({"SET", "user:" + std::to_string(1000 + i), "x"});
    std::swap(shop.client, client);
  }
  EXPECT_GT(shop.guard->counters(GuardedShop::kUsers).lost.value(), 0);
  for (Client& client : clients) {
    std::swap(shop.client, client);
    EXPECT_FALSE(shop.answers({"GET", "user:600"})) << "it may have lost a key";
    std::swap(shop.client, client);
  }
  std::swap(shop.client, little);
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_TRUE(shop.answers({"GET", "user:600"}));
}

// What it has lost as one user it may still look for as another.
TEST(GuardLearning, who_passes_still_does_so_when_it_writes_as_another_user) {
  GuardedShop shop;
  for (std::size_t i = 0; i <= LearnedKeys::limits_for(1000, 1).client; ++i) {
    shop.write({"SET", "user:" + std::to_string(1000 + i), "x"});
  }
  shop.facts.publish_users(shop.facts.epoch(), {.unrestricted = {"default", "alice"}});
  shop.send({"AUTH", "alice", "x"}, '+');
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  shop.write({"SET", "user:501", "x"});
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
}

TEST(GuardLearning, scripts_that_name_no_keys_are_counted) {
  GuardedShop shop;
  shop.decide({"EVAL", "return 1", "0"});
  shop.decide({"EVALSHA", "abc", "0", "user:500"});
  shop.decide({"FCALL", "f", "0"});
  shop.decide({"EVAL", "return 1", "1", "k"});
  shop.decide({"EVAL_RO", "return 1", "0"});
  shop.decide({"MSET", "k", "v"});
  EXPECT_EQ(shop.guard->counters().scripts_without_keys.value(), 3);
}

}  // namespace
}  // namespace cuckooguard::guard
