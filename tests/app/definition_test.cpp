#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "app/generation.h"
#include "config/parse.h"

namespace cuckooguard::app {
namespace {

std::string with(std::string text, std::string_view part, std::string_view instead) {
  return text.replace(text.find(part), part.size(), instead);
}

const std::string kShop =
    "sources: { shop: { type: sqlite, path: /shop.db, max_lag: 1s } }\n"
    "namespaces:\n"
    "  users: { keys: \"user:{id:uint64}\", source: { from: shop, table: user }, mode: enforce, "
    "absent_reply: nil, db: 0, fresh_ids: 0, filter: { capacity: 10k }, overlay: { ttl: 60s } }\n";
const std::string kTags = "  tags: { keys: \"tag:{name}\", source: { from: shop, table: tag } }\n";

// As users are defined in this configuration.
Definition of_users(const std::string& yaml) {
  const config::Config config = config::testing::config_of(yaml);
  const std::size_t ns = config.namespaces.front().name == "users" ? 0 : 1;
  return definition_of(config, ns);
}

TEST(Definition, is_all_that_the_filter_is_made_of) {
  const Definition before = of_users(kShop);
  for (const auto& [part, instead] : {std::pair{"users:", "people:"},
                                      std::pair{"user:{id", "users:{id"},
                                      std::pair{"uint64", "int64"},
                                      std::pair{"table: user", "table: person"},
                                      std::pair{"table: user", "table: user, where: \"a = 1\""},
                                      std::pair{"table: user", "table: user, columns: { id: nr }"},
                                      std::pair{"/shop.db", "/other.db"},
                                      std::pair{"max_lag: 1s", "max_lag: 2s"},
                                      std::pair{"max_lag: 1s", "max_lag: 1s, strict_every: 9ms"},
                                      std::pair{"fresh_ids: 0", "fresh_ids: 5"},
                                      std::pair{"db: 0", "canonical_keys: true"},
                                      std::pair{"capacity: 10k", "capacity: 20k"}}) {
    const config::Config config = config::testing::config_of(with(kShop, part, instead));
    EXPECT_NE(definition_of(config, 0), before) << instead;
  }
}

TEST(Definition, is_not_policy_nor_the_order_in_the_file) {
  const Definition before = of_users(kShop);
  for (const auto& [part, instead] : {std::pair{"mode: enforce", "mode: bypass"},
                                      std::pair{"absent_reply: nil", "absent_reply: \"bytes:x\""},
                                      std::pair{"db: 0", "db: 3, order: redis-first"},
                                      std::pair{"db: 0", "verify_sample: 3%"},
                                      std::pair{"db: 0", "tolerate: 10/s, consistency: strict"},
                                      std::pair{"max_lag: 1s", "max_lag: 1s, strict_hold: 7ms"},
                                      std::pair{"ttl: 60s", "ttl: 5s, max_keys: 7k"}}) {
    EXPECT_EQ(of_users(with(kShop, part, instead)), before) << instead;
  }
  EXPECT_EQ(of_users(kShop + kTags), before);
  EXPECT_EQ(of_users(with(kShop, "  users:", kTags + "  users:")), before);
}

// Rows of `user:x{id}` may have keys that it claims: `user:x:y`.
TEST(Definition, has_the_templates_that_may_claim_keys_of_its_rows) {
  const std::string people = with(kShop, "{id:uint64}", "x{id}");
  const std::string others =
      "  others: { keys: \"user:{path:rest}\", source: { from: shop, table: tag } }\n";
  EXPECT_NE(of_users(people + others), of_users(people));
}

// `user:x5` was a key of `people`, and its row's; with `others` it is not.
TEST(Definition, has_the_templates_that_win_keys_over_its_own) {
  const std::string people = with(kShop, "{id:uint64}", "{id}");
  const std::string others =
      "  others: { keys: \"user:x{id}\", source: { from: shop, table: tag } }\n";
  const Definition before = of_users(people);
  const Definition after = of_users(people + others);
  EXPECT_NE(after, before);
  EXPECT_FALSE(after.has_the_keys_of(before));
  EXPECT_EQ(of_users(with(people, "  users:", others + "  users:")), after);
}

}  // namespace
}  // namespace cuckooguard::app
