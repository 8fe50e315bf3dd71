#include "config/config.h"

#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/values.h"

namespace cuckooguard::config {
namespace {

TEST(Config, addresses_are_printed_as_they_are_written) {
  for (const char* const text :
       {"127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock", "redis:1"}) {
    EXPECT_EQ(parse_address(text)->text(), text);
  }
}

TEST(Config, namespaces_keep_their_order_on_the_way_to_the_keyspace) {
  const Config config = testing::config_of(testing::with_namespace(
      "    canonical_keys: true\n"
      "  carts: { keys: 'cart:{id}', source: { from: shop, table: cart } }\n"));
  const auto built = keyspace::Keyspace::build(namespace_templates(config));
  ASSERT_TRUE(built);
  ASSERT_EQ(built->size(), 2U);
  EXPECT_EQ(built->name(0), "users");
  EXPECT_EQ(built->name(1), "carts");
  keyspace::IdentityBuffer scratch;
  EXPECT_EQ(built->match("user:x", scratch).kind, keyspace::Lookup::Kind::impossible);
  EXPECT_EQ(built->match("cart:x", scratch).ns, 1U);
}

TEST(Config, as_it_is_forwards_from_loopback_to_loopback_and_guards_nothing) {
  const Config config;
  EXPECT_EQ(config.listen.front().address.text(), "127.0.0.1:6380");
  EXPECT_EQ(config.upstream.address.text(), "127.0.0.1:6379");
  EXPECT_TRUE(config.namespaces.empty());
  EXPECT_EQ(Namespace{}.mode, Mode::observe);
}

}  // namespace
}  // namespace cuckooguard::config
