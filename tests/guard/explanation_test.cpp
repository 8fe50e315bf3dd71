#include "guard/explanation.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using testing::HasSubstr;

keyspace::Keyspace one_namespace(std::string_view key) {
  std::vector<keyspace::NamespaceTemplates> namespaces(1);
  namespaces[0].name = "orders";
  namespaces[0].templates.push_back(keyspace::KeyTemplate::parse(key).value());
  return keyspace::Keyspace::build(std::move(namespaces)).value();
}

// What EXPLAIN says of `key` where this is the one template and nothing is loaded.
std::string explained(std::string_view key_template, std::string_view key) {
  const keyspace::Keyspace keyspace = one_namespace(key_template);
  filter::Epochs epochs(1);
  filter::LiveParts live(epochs, fixed_secret(2));
  Overlay overlay({.max_keys = 8, .ttl = seconds(60)});
  const GuardedNamespace space{.mode = config::Mode::enforce, .filter = &live, .overlay = &overlay};
  redis::Facts facts;
  Guard guard({.keyspace = keyspace, .namespaces = std::span(&space, 1), .facts = facts});
  const redis::UserAccess everything{.is_unrestricted = true};
  std::string text;
  append_explanation(text,
                     {.parts = guard.parts(),
                      .redis = guard.facts(),
                      .key = key,
                      .seen = guard.inspect(key, {.access = everything})});
  return text;
}

TEST(Explanation, an_identity_of_several_values_names_each) {
  EXPECT_THAT(explained("order:{tenant}:{order_id}", "order:seven:42"),
              HasSubstr("$8\r\nidentity\r\n$24\r\ntenant=seven order_id=42\r\n"));
  EXPECT_THAT(explained("{a}:{b}:{c:rest}", "1::2:3:"), HasSubstr("$9\r\nnamespace\r\n$-1\r\n"));
  EXPECT_THAT(explained("{a}:{b}:{c:rest}", "1:2:3:4"), HasSubstr("$13\r\na=1 b=2 c=3:4\r\n"));
}

TEST(Explanation, an_identity_of_one_value_is_that_value_as_it_is_looked_up) {
  EXPECT_THAT(explained("name:{name|ci}", "name:Ada  "),
              HasSubstr("$8\r\nidentity\r\n$3\r\nada\r\n"));
  EXPECT_THAT(explained("order:{id}", "order:"), HasSubstr("unguarded"));
}

TEST(Explanation, what_is_not_loaded_passes) {
  const std::string text = explained("order:{id}", "order:1");
  EXPECT_THAT(text, HasSubstr("$5\r\nstate\r\n$7\r\nloading\r\n$7\r\nverdict\r\n$4\r\npass\r\n"));
  EXPECT_THAT(text, HasSubstr("the filter is loading"));
}

}  // namespace
}  // namespace cuckooguard::guard
