// Absent keys of which Redis is asked all the same: which, and what its reply is taken for.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/contradictions.h"
#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

class GuardComparison : public testing::Test {
 protected:
  GuardComparison() { shop_.process.contradictions = &contradictions_; }

  // Redis replies so to the read's one absent key.
  void reply(std::initializer_list<std::string_view> read, std::string_view bytes) {
    const Decision decision = shop_.decide(read);
    ASSERT_EQ(decision.absent_keys.size(), 1U);
    const AbsentKey& key = decision.absent_keys.front();
    shop_.guard->compare({.ns = key.ns,
                          .key = key.key,
                          .missing = key.missing,
                          .is_string_read = key.is_string_read,
                          .reply = bytes.substr(0, key.kept_bytes),
                          .is_whole = bytes.size() <= key.kept_bytes,
                          .is_error = bytes.starts_with('-')});
  }
  const NamespaceCounters& counters(std::uint32_t ns) const { return shop_.guard->counters(ns); }

  GuardedShop shop_;
  Contradictions contradictions_{4};
};

class RedisFirst : public GuardComparison {
 protected:
  RedisFirst() {
    for (GuardedNamespace& space : shop_.spaces) {
      space.order = config::Order::redis_first;
    }
  }
};

TEST_F(RedisFirst, a_get_of_an_absent_key_is_forwarded_and_its_nil_becomes_the_absent_reply) {
  const Decision item = shop_.decide({"GET", "item:plum"});
  EXPECT_EQ(item.action, Action::forward);
  ASSERT_EQ(item.absent_keys.size(), 1U);
  EXPECT_EQ(item.absent_keys[0].missing, kNil2);
  EXPECT_EQ(item.absent_keys[0].replacement, kStar);
  EXPECT_EQ(item.absent_keys[0].key, "item:plum");
  shop_.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop_.decide({"GET", "item:plum"}).absent_keys[0].missing, kNil3);
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::redis_first), 2);
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::absent), 0);
}

TEST_F(RedisFirst, a_nil_that_stays_one_is_not_replaced) {
  EXPECT_EQ(shop_.decide({"GET", "user:500"}).absent_keys[0].replacement, "");
}

TEST_F(RedisFirst, only_get_has_a_reply_replaced) {
  EXPECT_EQ(shop_.decide({"EXISTS", "item:plum"}).absent_keys[0].replacement, "");
  EXPECT_EQ(shop_.decide({"STRLEN", "item:plum"}).absent_keys[0].replacement, "");
  const Decision mget = shop_.decide({"MGET", "item:plum", "item:pear"});
  EXPECT_EQ(mget.action, Action::forward);
  EXPECT_EQ(mget.absent_keys[0].replacement, "");
}

TEST_F(RedisFirst, what_may_exist_or_may_not_be_answered_is_forwarded_as_it_is) {
  EXPECT_TRUE(shop_.decide({"GET", "item:pear"}).absent_keys.empty());
  shop_.decide({"SET", "item:plum", "x"});
  EXPECT_TRUE(shop_.decide({"GET", "item:plum"}).absent_keys.empty()) << "just written";
  shop_.may_answer = false;
  EXPECT_TRUE(shop_.decide({"GET", "item:fig"}).absent_keys.empty());
  shop_.may_answer = true;
  shop_.filters[GuardedShop::kItems]->set_fresh_until(TimePoint::min());
  EXPECT_TRUE(shop_.decide({"GET", "item:fig"}).absent_keys.empty());
  shop_.filters[GuardedShop::kItems]->set_fresh_until(shop_.now + seconds(1));
  EXPECT_FALSE(shop_.decide({"GET", "item:fig"}).absent_keys.empty());
  shop_.send({"MULTI"}, '+');
  EXPECT_TRUE(shop_.decide({"GET", "item:fig"}).absent_keys.empty());
}

TEST_F(RedisFirst, in_observe_nothing_is_replaced) {
  shop_.spaces[GuardedShop::kItems].mode = config::Mode::observe;
  EXPECT_EQ(shop_.decide({"GET", "item:plum"}).absent_keys[0].replacement, "");
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::observed), 1);
}

class Observe : public GuardComparison {
 protected:
  Observe() {
    for (GuardedNamespace& space : shop_.spaces) {
      space.mode = config::Mode::observe;
    }
  }
};

TEST_F(Observe, redis_agrees_if_it_has_no_such_key_or_the_absent_reply_itself) {
  reply({"GET", "item:plum"}, kNil2);
  reply({"GET", "item:plum"}, kStar);
  reply({"EXISTS", "item:plum"}, ":0\r\n");
  reply({"HGETALL", "item:plum"}, "*0\r\n");
  reply({"HMGET", "item:plum", "a", "b"}, "*2\r\n$-1\r\n$-1\r\n");
  EXPECT_EQ(counters(GuardedShop::kItems).verified.value(), 5);
  EXPECT_EQ(counters(GuardedShop::kItems).contradicted.value(), 0);
  EXPECT_EQ(contradictions_.next(), std::nullopt);
}

TEST_F(Observe, any_other_reply_is_a_contradiction_and_goes_on_with_its_key) {
  reply({"GET", "user:500"}, kStar);
  reply({"GET", "item:plum"}, "$2\r\n**\r\n");
  reply({"EXISTS", "item:fig"}, ":1\r\n");
  reply({"HGETALL", "item:date"}, "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  EXPECT_EQ(counters(GuardedShop::kUsers).contradicted.value(), 1);
  EXPECT_EQ(counters(GuardedShop::kItems).contradicted.value(), 3);
  for (const char* const key : {"user:500", "item:plum", "item:fig", "item:date"}) {
    EXPECT_EQ(contradictions_.next()->key, key);
  }
}

TEST_F(Observe, an_error_says_nothing) {
  reply({"GET", "user:500"}, "-WRONGTYPE\r\n");
  EXPECT_EQ(counters(GuardedShop::kUsers).unverified.value(), 1);
  EXPECT_EQ(counters(GuardedShop::kUsers).contradicted.value(), 0);
}

TEST_F(Observe, each_absent_element_of_an_mget_is_compared) {
  const Decision decision = shop_.decide({"MGET", "user:500", "user:1", "item:plum"});
  EXPECT_EQ(decision.action, Action::forward);
  ASSERT_EQ(decision.elements.size(), 3U);
  ASSERT_EQ(decision.absent_keys.size(), 2U);
  EXPECT_EQ(decision.absent_keys[0].element, 0U);
  EXPECT_EQ(decision.absent_keys[1].element, 2U);
  EXPECT_TRUE(shop_.decide({"MGET", "user:1", "other"}).elements.empty());
}

TEST_F(Observe, of_other_reads_of_several_keys_it_is_counted_that_nobody_could_compare) {
  EXPECT_TRUE(shop_.decide({"EXISTS", "user:500", "user:501"}).absent_keys.empty());
  EXPECT_TRUE(shop_.decide({"SUNION", "user:500", "user:501"}).absent_keys.empty());
  EXPECT_EQ(counters(GuardedShop::kUsers).unverified.value(), 4);
}

class VerifySample : public GuardComparison {
 protected:
  void sample(double share) {
    for (GuardedNamespace& space : shop_.spaces) {
      space.verify_sample = share;
    }
  }
};

TEST_F(VerifySample, all_or_none_or_about_the_share_of_absent_keys_is_asked_of_redis) {
  constexpr int kReads = 20'000;
  for (const double share : {0.0, 0.01, 0.5, 1.0}) {
    sample(share);
    int asked = 0;
    for (int i = 0; i < kReads; ++i) {
      asked += shop_.answers({"GET", "user:500"}) ? 0 : 1;
    }
    const double expected = share * kReads;
    EXPECT_NEAR(asked, expected, share == 0 || share == 1 ? 0 : expected / 5) << share;
  }
}

TEST_F(VerifySample, a_sampled_key_is_replied_to_as_it_would_have_been_answered) {
  sample(1);
  EXPECT_EQ(shop_.decide({"GET", "item:plum"}).absent_keys[0].replacement, kStar);
  EXPECT_EQ(shop_.decide({"GET", "user:500"}).absent_keys[0].replacement, "") << "nil is nil";
  EXPECT_EQ(shop_.decide({"EXISTS", "item:plum"}).absent_keys[0].missing, ":0\r\n");
  const Decision mget = shop_.decide({"MGET", "item:plum", "item:pear"});
  EXPECT_EQ(mget.absent_keys[0].replacement, kStar);
  EXPECT_EQ(counters(GuardedShop::kItems).sampled.value(), 3);
}

TEST_F(VerifySample, keys_that_may_exist_are_not_part_of_it) {
  sample(1);
  EXPECT_TRUE(shop_.decide({"GET", "user:1"}).absent_keys.empty());
  EXPECT_EQ(counters(GuardedShop::kUsers).sampled.value(), 0);
}

TEST_F(VerifySample, nothing_is_sampled_while_redis_may_be_down) {
  sample(1);
  ASSERT_FALSE(shop_.answers({"GET", "user:500"}));
  shop_.facts.lost();
  EXPECT_TRUE(shop_.answers({"GET", "user:500"}));
}

TEST_F(VerifySample, a_part_of_an_mget_may_be_sampled_while_the_rest_is_answered) {
  shop_.spaces[GuardedShop::kUsers].verify_sample = 1;
  const Decision decision = shop_.decide({"MGET", "item:plum", "user:500"});
  EXPECT_EQ(decision.action, Action::merge);
  EXPECT_EQ(decision.request, "*2\r\n$4\r\nMGET\r\n$8\r\nuser:500\r\n");
  EXPECT_EQ(decision.absent_keys[0].element, 1U);
}

}  // namespace
}  // namespace cuckooguard::guard
