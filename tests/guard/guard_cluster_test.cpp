// In front of a cluster's node: answered is only what that node would have looked for itself.
#include <initializer_list>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

class GuardInCluster : public testing::Test {
 protected:
  GuardInCluster() { serves({"user:500", "item:plum"}); }

  // The slots of these keys, and no other one.
  void serves(std::initializer_list<std::string_view> keys,
              bool is_master = true,
              bool is_whole_cluster = false) {
    redis::Slots slots;
    for (const std::string_view key : keys) {
      slots.set(redis::slot_of(key));
    }
    shop_.facts.publish(shop_.facts.epoch(),
                        {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                         .is_master = is_master,
                         .slots = std::make_shared<const redis::Slots>(slots),
                         .is_whole_cluster = is_whole_cluster});
  }

  GuardedShop shop_;
};

TEST_F(GuardInCluster, keys_of_its_own_slots_are_answered) {
  EXPECT_TRUE(shop_.answers({"GET", "user:500"}));
  EXPECT_TRUE(shop_.answers({"EXISTS", "user:500"}));
  EXPECT_TRUE(shop_.answers({"MGET", "user:500", "user:500"}));
  EXPECT_TRUE(shop_.answers({"HGETALL", "item:plum"}));
  EXPECT_EQ(shop_.guard->counters().other_node_reads.value(), 0U);
}

TEST_F(GuardInCluster, keys_of_another_node_s_slots_are_redirected_by_redis) {
  EXPECT_FALSE(shop_.answers({"GET", "user:501"}));
  EXPECT_FALSE(shop_.answers({"TTL", "item:fig"}));
  EXPECT_EQ(shop_.guard->counters().other_node_reads.value(), 2U);
  serves({});
  EXPECT_FALSE(shop_.answers({"GET", "user:500"})) << "it does not know, or is cut off";
}

TEST_F(GuardInCluster, one_connection_to_all_nodes_is_answered_for_several_slots_if_it_would_be) {
  serves({"user:500", "item:plum"}, true, true);
  EXPECT_TRUE(shop_.answers({"EXISTS", "item:plum", "user:500"}));
  EXPECT_TRUE(shop_.answers({"MGET", "user:500", "item:plum"}));
  EXPECT_FALSE(shop_.answers({"SUNION", "user:500", "item:plum"})) << "Redis says CROSSSLOT";
  EXPECT_FALSE(shop_.answers({"EXISTS", "user:500", "user:501"})) << "which nobody serves";
}

TEST_F(GuardInCluster, keys_of_several_slots_are_refused_by_redis) {
  ASSERT_NE(redis::slot_of("user:500"), redis::slot_of("item:plum"));
  for (const std::initializer_list<std::string_view> command :
       {std::initializer_list<std::string_view>{"MGET", "user:500", "item:plum"},
        {"EXISTS", "item:plum", "user:500"},
        {"SUNION", "user:500", "item:plum"},
        {"SINTERCARD", "2", "user:500", "item:plum"},
        {"LCS", "user:500", "item:plum"}}) {
    const Decision decision = shop_.decide(command);
    EXPECT_EQ(decision.action, Action::forward) << *command.begin();
    EXPECT_TRUE(decision.elements.empty()) << "and not in parts";
  }
}

TEST_F(GuardInCluster, a_replica_s_are_answered_to_who_reads_from_replicas) {
  serves({"user:500"}, false);
  EXPECT_FALSE(shop_.answers({"GET", "user:500"}));
  shop_.send({"READONLY"}, '+');
  EXPECT_TRUE(shop_.answers({"GET", "user:500"}));
  EXPECT_FALSE(shop_.answers({"GET", "user:501"}));
  shop_.send({"READWRITE"}, '+');
  EXPECT_FALSE(shop_.answers({"GET", "user:500"}));
}

TEST_F(GuardInCluster, what_follows_asking_is_redis_s) {
  shop_.send({"ASKING"}, '+');
  EXPECT_FALSE(shop_.answers({"GET", "user:500"}));
}

}  // namespace
}  // namespace cuckooguard::guard
