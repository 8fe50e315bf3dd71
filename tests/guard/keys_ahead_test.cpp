#include "guard/keys_ahead.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

keyspace::Keyspace keyspace_of(std::string_view key) {
  std::vector<keyspace::NamespaceTemplates> namespaces(1);
  namespaces[0].name = "users";
  namespaces[0].templates.push_back(keyspace::KeyTemplate::parse(key).value());
  return keyspace::Keyspace::build(std::move(namespaces)).value();
}

class KeysAheadTest : public testing::Test {
 protected:
  // A namespace with a filter, whichever.
  GuardedShop shop_;
  const std::vector<GuardedNamespace> spaces_{shop_.spaces[GuardedShop::kUsers]};
  KeysAhead ahead_;
};

TEST_F(KeysAheadTest, what_is_found_is_what_the_keyspace_says) {
  const keyspace::Keyspace keyspace = keyspace_of("order:{shop}:{id:uint64}:v1");
  keyspace::IdentityBuffer scratch;
  for (const std::string_view key : {"order:7:42:v1", "order:7:x:v1", "order:7:42", "other"}) {
    ahead_.look(key, keyspace, spaces_);
    const keyspace::Lookup* const found = ahead_.find(key);
    ASSERT_NE(found, nullptr);
    const keyspace::Lookup expected = keyspace.match(key, scratch);
    EXPECT_EQ(found->kind, expected.kind) << key;
    EXPECT_EQ(found->number, expected.number) << key;
    EXPECT_EQ(found->identity, expected.identity) << key;
  }
}

TEST_F(KeysAheadTest, bytes_that_have_become_another_key_find_nothing) {
  const keyspace::Keyspace keyspace = keyspace_of("item:{sku}");
  std::string buffer = "item:plum";
  ahead_.look(buffer, keyspace, spaces_);
  buffer = "item:pear";
  EXPECT_EQ(ahead_.find(buffer), nullptr);
  EXPECT_EQ(ahead_.find(""), nullptr);
  EXPECT_EQ(ahead_.find("item:plum")->identity, "plum");
}

TEST_F(KeysAheadTest, the_one_before_stays_while_the_next_is_looked_at) {
  const keyspace::Keyspace keyspace = keyspace_of("item:{sku}");
  ahead_.look("item:a", keyspace, spaces_);
  const keyspace::Lookup* const found = ahead_.find("item:a");
  ahead_.look("item:b", keyspace, spaces_);
  EXPECT_EQ(found->identity, "a");
  ahead_.look("item:c", keyspace, spaces_);
  EXPECT_EQ(ahead_.find("item:a"), nullptr);
  EXPECT_EQ(ahead_.find("item:b")->identity, "b");
}

TEST_F(KeysAheadTest, keys_that_are_too_long_are_not_looked_at) {
  const keyspace::Keyspace keyspace = keyspace_of("item:{sku}");
  const std::string longest = "item:" + std::string(KeysAhead::kKeyBytesMax - 5, 'a');
  ahead_.look(longest, keyspace, spaces_);
  ahead_.look(longest + "a", keyspace, spaces_);
  EXPECT_NE(ahead_.find(longest), nullptr);
  EXPECT_EQ(ahead_.find(longest + "a"), nullptr);
}

TEST_F(KeysAheadTest, a_guard_judges_by_the_namespaces_that_it_has_when_it_judges) {
  constexpr std::string_view kGet = "*2\r\n$3\r\nGET\r\n$8\r\nuser:500\r\n";
  const std::vector<std::string_view> arguments{kGet.substr(8, 3), kGet.substr(17, 8)};
  Guard& guard = *shop_.guard;
  guard.look_ahead(guard.ask(arguments, shop_.client, shop_.now), kGet, kGet);
  const keyspace::Keyspace other = keyspace_of("customer:{id:uint64}");
  const Guard::Parts parts = guard.parts();
  guard.adopt({.keyspace = other,
               .namespaces = spaces_,
               .facts = parts.facts,
               .process = parts.process,
               .wall_time = parts.wall_time});
  EXPECT_EQ(shop_.decide({"GET", "user:500"}).action, Action::forward);
  EXPECT_EQ(shop_.decide({"GET", "customer:500"}).action, Action::answer);
}

}  // namespace
}  // namespace cuckooguard::guard
