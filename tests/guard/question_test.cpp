#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guard.h"
#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

// Redis may close the connection at once, and with it those who share it.
TEST(Question, large_commands_of_who_may_not_have_logged_in_are_not_shared) {
  GuardedShop shop;
  const std::vector<std::string_view> words(12, "mget");
  const auto lane = [&] { return shop.guard->ask(words, shop.client, shop.now).lane(); };
  EXPECT_EQ(lane(), redis::Lane::reads);
  shop.facts.publish_users(shop.facts.epoch(), {.unrestricted = {"root"}});
  EXPECT_EQ(lane(), redis::Lane::for_good);
}

// What Redis lists no more under a name of the table is another command, or none.
TEST(Question, a_command_is_what_this_redis_has_under_its_name) {
  GuardedShop shop;
  const std::vector<std::string_view> words{"GET", "user:500"};
  const auto role = [&] { return shop.guard->ask(words, shop.client, shop.now).command.role; };
  EXPECT_EQ(role(), redis::Role::get);
  const auto commands = std::make_shared<redis::Commands>();
  commands->listed.reset();
  shop.facts.publish(shop.facts.epoch(), {.commands = commands});
  EXPECT_EQ(role(), redis::Role::unknown);
}

}  // namespace
}  // namespace cuckooguard::guard
