// Commands too large to be held whole, which come in chunks.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using Words = std::vector<std::string_view>;

struct Chunk {
  Words arguments{};  // none: raw bytes of a large one
  std::uint64_t first = 0;
  std::uint64_t total = 0;
  bool begins = false;
  bool ends = false;
};

Action stream(GuardedShop& shop, const Chunk& chunk) {
  resp::Scan scan;
  scan.outcome = resp::ScanOutcome::chunk;
  scan.begins = chunk.begins;
  scan.ends = chunk.ends;
  scan.first_argument = chunk.first;
  scan.argument_total = chunk.total;
  return shop.guard->stream(scan, chunk.arguments, shop.client, shop.now).action;
}

TEST(GuardStream, the_key_of_a_large_write_is_learned) {
  GuardedShop shop;
  const Chunk first{.arguments = {"SET", "user:500"}, .total = 3, .begins = true};
  EXPECT_EQ(stream(shop, first), Action::forward);
  EXPECT_FALSE(shop.answers({"GET", "user:500"})) << "before the value has passed";
  EXPECT_EQ(stream(shop, {.first = 2, .total = 3, .ends = true}), Action::forward);
  EXPECT_EQ(shop.client.streamed(), nullptr);
}

TEST(GuardStream, every_key_of_a_long_write_is_learned_wherever_the_chunks_end) {
  const Words words = {"MSET", "user:500", "user:600", "user:501", "x", "user:502", "y"};
  for (std::size_t cut = 1; cut < words.size(); ++cut) {
    GuardedShop shop;
    const auto middle = words.begin() + static_cast<std::ptrdiff_t>(cut);
    stream(shop, {.arguments = Words(words.begin(), middle), .total = 7, .begins = true});
    stream(shop, {.arguments = Words(middle, words.end()), .first = cut, .total = 7, .ends = true});
    EXPECT_EQ(shop.decide({"MGET", "user:500", "user:501", "user:502"}).action, Action::forward);
    EXPECT_TRUE(shop.answers({"GET", "user:600"})) << "a value";
  }
}

TEST(GuardStream, keys_that_cannot_be_told_from_other_arguments_are_learned) {
  for (const std::string_view name : {"EVAL", "SORT", "MODULE.SET", "ZUNIONSTORE"}) {
    GuardedShop shop;
    stream(shop, {.arguments = {name}, .total = 4, .begins = true});
    stream(shop, {.first = 1, .total = 4});
    stream(shop, {.arguments = {"1", "user:500"}, .first = 2, .total = 4, .ends = true});
    EXPECT_FALSE(shop.answers({"GET", "user:500"})) << name;
  }
}

TEST(GuardStream, a_name_too_long_to_be_seen_is_an_unknown_command) {
  GuardedShop shop;
  EXPECT_EQ(stream(shop, {.total = 2, .begins = true}), Action::forward);
  stream(shop, {.arguments = {"user:500"}, .first = 1, .total = 2, .ends = true});
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
}

TEST(GuardStream, large_reads_and_echoes_are_forwarded_and_teach_nothing) {
  for (const std::string_view name : {"MGET", "EXISTS", "ECHO", "PUBLISH", "SINTER"}) {
    GuardedShop shop;
    EXPECT_EQ(stream(shop, {.arguments = {name, "user:500"}, .total = 3, .begins = true}),
              Action::forward);
    EXPECT_EQ(stream(shop, {.first = 2, .total = 3, .ends = true}), Action::forward);
    EXPECT_TRUE(shop.answers({"GET", "user:500"})) << name;
  }
}

TEST(GuardStream, a_large_command_that_changes_the_connection_ends_reading_of_replies) {
  for (const std::string_view name : {"SELECT",
                                      "AUTH",
                                      "HELLO",
                                      "MULTI",
                                      "EXEC",
                                      "DISCARD",
                                      "WATCH",
                                      "UNWATCH",
                                      "RESET",
                                      "CLIENT",
                                      "SCRIPT",
                                      "SUBSCRIBE",
                                      "MONITOR",
                                      "QUIT",
                                      "hello"}) {
    GuardedShop shop;
    const Chunk first{.arguments = {name}, .total = 9, .begins = true};
    EXPECT_EQ(stream(shop, first), Action::unread) << name;
    EXPECT_TRUE(shop.client.has_unread_replies()) << name;
    EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::unread) << name;
  }
}

TEST(GuardStream, a_large_script_may_be_loaded) {
  GuardedShop shop;
  EXPECT_EQ(stream(shop, {.arguments = {"SCRIPT", "LOAD"}, .total = 3, .begins = true}),
            Action::forward);
  EXPECT_EQ(stream(shop, {.first = 2, .total = 3, .ends = true}), Action::forward);
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  EXPECT_EQ(stream(shop, {.arguments = {"SCRIPT", "DEBUG"}, .total = 3, .begins = true}),
            Action::unread);
}

TEST(GuardStream, a_large_client_command_may_only_be_of_a_harmless_kind) {
  for (const std::string_view subcommand : {"TRACKING", "reply"}) {
    GuardedShop shop;
    EXPECT_EQ(stream(shop, {.arguments = {"CLIENT", subcommand}, .total = 3, .begins = true}),
              Action::unread);
  }
  GuardedShop shop;
  EXPECT_EQ(stream(shop, {.arguments = {"CLIENT", "SETNAME"}, .total = 3, .begins = true}),
            Action::forward);
}

TEST(GuardStream, one_command_does_not_colour_the_next) {
  GuardedShop shop;
  stream(shop, {.arguments = {"SET", "user:500"}, .total = 3, .begins = true});
  stream(shop, {.first = 2, .total = 3, .ends = true});
  stream(shop, {.arguments = {"MGET", "user:501"}, .total = 9, .begins = true});
  stream(shop, {.arguments = {"user:502"}, .first = 2, .total = 9, .ends = true});
  EXPECT_TRUE(shop.answers({"GET", "user:501"}));
  EXPECT_TRUE(shop.answers({"GET", "user:502"}));
}

TEST(GuardStream, the_key_of_a_large_write_is_learned_though_its_reply_will_be_unread) {
  GuardedShop shop;
  shop.client.stop_reading_replies();
  stream(shop, {.arguments = {"SET", "user:500"}, .total = 3, .begins = true});
  stream(shop, {.first = 2, .total = 3, .ends = true});
  EXPECT_FALSE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardStream, a_client_whose_replies_are_unread_stays_so) {
  GuardedShop shop;
  shop.client.stop_reading_replies();
  EXPECT_EQ(stream(shop, {.arguments = {"SET", "k"}, .total = 3, .begins = true}), Action::unread);
}

}  // namespace
}  // namespace cuckooguard::guard
