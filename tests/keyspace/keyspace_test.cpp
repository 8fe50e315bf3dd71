#include "keyspace/keyspace.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using Kind = Lookup::Kind;
using testing::must_build;
using testing::must_parse;

NamespaceTemplates users(std::string_view text, bool canonical = false) {
  return {"users", {must_parse(text)}, canonical};
}

TEST(Keyspace, a_key_of_no_template_is_unguarded) {
  IdentityBuffer scratch;
  EXPECT_EQ(must_build({}).match("user:1", scratch).kind, Kind::unguarded);
  EXPECT_EQ(must_build({users("user:{id}")}).match("user", scratch).kind, Kind::unguarded);
  EXPECT_EQ(must_build({users("user:{id}")}).match("", scratch).kind, Kind::unguarded);
}

TEST(Keyspace, namespaces_are_found_by_name) {
  const Keyspace keyspace =
      must_build({users("user:{id}"), {"carts", {must_parse("cart:{id}")}, false}});
  EXPECT_EQ(keyspace.find("users"), 0U);
  EXPECT_EQ(keyspace.find("carts"), 1U);
  EXPECT_EQ(keyspace.find("Users"), std::nullopt);
  EXPECT_EQ(keyspace.find(""), std::nullopt);
}

TEST(Keyspace, a_single_identity_is_a_view_of_the_key) {
  IdentityBuffer scratch;
  const std::string key = "user:42:profile";
  const Lookup found = must_build({users("user:{id}:profile")}).match(key, scratch);
  ASSERT_EQ(found.kind, Kind::guarded);
  EXPECT_EQ(found.identity, "42");
  EXPECT_EQ(found.identity.data(), key.data() + 5);
  EXPECT_EQ(found.number, std::nullopt) << "text is no number, even if it looks like one";
}

TEST(Keyspace, templates_of_one_namespace_share_the_identity) {
  IdentityBuffer scratch;
  const Keyspace keyspace = must_build(
      {{"orders", {must_parse("order:{tenant}:{id}"), must_parse("o:{id}:{_}:{tenant}")}, false}});
  const std::string first(keyspace.match("order:acme:7", scratch).identity);
  EXPECT_EQ(keyspace.match("o:7:x:acme", scratch).identity, first);
  EXPECT_NE(keyspace.match("o:acme:x:7", scratch).identity, first);
  ASSERT_EQ(keyspace.identity_columns(0).size(), 2U);
  EXPECT_EQ(keyspace.identity_columns(0)[0], "tenant");
}

TEST(Keyspace, integers_come_with_their_number) {
  IdentityBuffer scratch;
  const Keyspace keyspace =
      must_build({users("user:{id:uint64}"), {"debts", {must_parse("debt:{id:int64}")}, false}});
  EXPECT_EQ(keyspace.match("user:18446744073709551615", scratch).number, UINT64_MAX);
  EXPECT_EQ(keyspace.match("debt:5", scratch).number, 5U);
  EXPECT_EQ(keyspace.match("debt:-5", scratch).number, std::nullopt);
  EXPECT_EQ(keyspace.match("debt:-5", scratch).ns, 1U);
  EXPECT_TRUE(keyspace.identity_is_integer(0));
}

TEST(Keyspace, what_is_no_integer_is_unguarded_or_impossible_if_keys_are_canonical) {
  IdentityBuffer scratch;
  for (const std::string key :
       {"user:007", "user:7abc", "user: 7", "user:-7", "user:18446744073709551616"}) {
    EXPECT_EQ(must_build({users("user:{id:uint64}")}).match(key, scratch).kind, Kind::unguarded)
        << key;
    EXPECT_EQ(must_build({users("user:{id:uint64}", true)}).match(key, scratch).kind,
              Kind::impossible)
        << key;
  }
  EXPECT_EQ(must_build({users("user:{id:uint64}", true)}).match("user:7:x", scratch).kind,
            Kind::unguarded)
      << "canonical_keys is about values, not about other keys";
}

TEST(Keyspace, what_the_database_may_equate_with_ascii_is_unguarded_even_if_keys_are_canonical) {
  IdentityBuffer scratch;
  const Keyspace keyspace = must_build({users("user:{id:uint64}:{name|ci}", true)});
  EXPECT_EQ(keyspace
                .match("user:7:B\xc3\xb6"
                       "b",
                       scratch)
                .kind,
            Kind::unguarded);
  EXPECT_EQ(keyspace
                .match("user:x:B\xc3\xb6"
                       "b",
                       scratch)
                .kind,
            Kind::unguarded);
  EXPECT_EQ(keyspace.match("user:x:Bob", scratch).kind, Kind::impossible);
}

TEST(Keyspace, all_spellings_of_ci_text_are_one_identity) {
  IdentityBuffer scratch;
  const Keyspace keyspace = must_build({users("user:{name|ci}")});
  EXPECT_EQ(keyspace.match("user:BoB", scratch).identity, "bob");
  EXPECT_EQ(keyspace.match("user:bob  ", scratch).identity, "bob");
  EXPECT_EQ(keyspace.match("user: bob", scratch).identity, " bob");
}

TEST(Keyspace, longest_prefix_wins_among_the_templates_whose_shape_fits) {
  IdentityBuffer scratch;
  const Keyspace keyspace = must_build({
      {"wide", {must_parse("u{x:rest}")}, false},
      {"users", {must_parse("user:{id:uint64}")}, false},
      {"vip", {must_parse("user:{name}:vip")}, false},
  });
  EXPECT_EQ(keyspace.match("user:7", scratch).ns, 1U);
  EXPECT_EQ(keyspace.match("user:7:vip", scratch).ns, 2U);
  EXPECT_EQ(keyspace.match("user:7:x", scratch).ns, 0U) << "no shape with the longer prefix fits";
  EXPECT_EQ(keyspace.match("user:007", scratch).kind, Kind::unguarded)
      << "SQL may take it for row 7 of users, so that it is not the wide namespace's to deny";
}

TEST(Keyspace, types_decide_between_equally_long_prefixes) {
  IdentityBuffer scratch;
  const Keyspace keyspace = must_build(
      {users("user:{id:uint64}", true), {"tagged", {must_parse("user:{name}-x")}, false}});
  EXPECT_EQ(keyspace.match("user:7", scratch).ns, 0U);
  EXPECT_EQ(keyspace.match("user:7-x", scratch).ns, 1U);
  EXPECT_EQ(keyspace.match("user:7-x", scratch).kind, Kind::guarded);
  EXPECT_EQ(keyspace.match("user:7-y", scratch).kind, Kind::impossible);
}

TEST(Keyspace, what_canonical_keys_cannot_be_is_left_to_a_shorter_prefix) {
  IdentityBuffer scratch;
  const Keyspace keyspace =
      must_build({users("user:{id:uint64}", true), {"wide", {must_parse("us{x:rest}")}, false}});
  EXPECT_EQ(keyspace.match("user:7", scratch).ns, 0U);
  EXPECT_EQ(keyspace.match("user:x", scratch).kind, Kind::guarded);
  EXPECT_EQ(keyspace.match("user:x", scratch).ns, 1U);
}

TEST(Keyspace, keys_beyond_the_limit_are_unguarded) {
  IdentityBuffer scratch;
  const Keyspace keyspace = must_build({users("user:{a}:{b|ci}")});
  const std::string longest = "user:x:" + std::string(kKeyBytesMax - 7, 'Y');
  ASSERT_EQ(keyspace.match(longest, scratch).kind, Kind::guarded);
  EXPECT_EQ(keyspace.match(longest, scratch).identity.size(), 4 + 1 + kKeyBytesMax - 7);
  EXPECT_EQ(keyspace.match(longest + "Y", scratch).kind, Kind::unguarded);
}

TEST(Keyspace, errors_come_back_with_nothing_built) {
  const auto built = Keyspace::build({users("user:{id}"), users("user:{name}")});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error()[0].namespace_index, 1U);
}

TEST(Keyspace, agrees_with_the_reference_on_random_keys) {
  testing::Random random(99);
  int guarded = 0;
  for (int i = 0; i < 700; ++i) {
    const auto namespaces = testing::random_namespaces(random, "ab:-");
    const Keyspace keyspace = must_build(namespaces);
    IdentityBuffer scratch;
    std::map<std::pair<std::size_t, std::string>, std::map<std::string, std::string>> tuples;
    for (int k = 0; k < 60; ++k) {
      const std::string key = testing::random_text(random, "abA:-01 \x80", 8);
      scratch.likely_template = static_cast<std::uint32_t>(testing::below(random, 6));
      const Lookup found = keyspace.match(key, scratch);
      const testing::ReferenceLookup expected = testing::reference_match(namespaces, key);
      ASSERT_EQ(found.kind, expected.kind)
          << testing::text_of(namespaces) << " on \"" << key << '"';
      if (found.kind != Kind::guarded) {
        continue;
      }
      ++guarded;
      ASSERT_EQ(found.ns, expected.ns) << testing::text_of(namespaces) << " on \"" << key << '"';
      // One identity per tuple of values, and one tuple per identity.
      const auto [first, is_new] =
          tuples.emplace(std::pair(found.ns, std::string(found.identity)), expected.values);
      ASSERT_EQ(first->second, expected.values)
          << testing::text_of(namespaces) << " on \"" << key << '"';
    }
  }
  EXPECT_GT(guarded, 1'000) << "the random keys hardly ever match: the test shows nothing";
}

}  // namespace
}  // namespace cuckooguard::keyspace
