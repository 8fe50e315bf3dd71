// Keyspace::identity_of_row: what promise 1 rests on. A row that is accepted must be found by each
// of its keys.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/asked_rows.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using Reason = RowError::Reason;
using testing::may_be;
using testing::must_build;
using testing::Row;
using testing::space;

RowError error_of(const Keyspace& keyspace, const Row& row) {
  IdentityBuffer scratch;
  auto result = keyspace.identity_of_row(0, row, scratch);
  EXPECT_FALSE(result);
  return result ? RowError{} : result.error();
}

TEST(RowIdentity, is_the_identity_of_the_rows_keys) {
  const Keyspace keyspace =
      must_build({space("orders", {"order:{t}:{id:uint64}", "{id:uint64}/{t}"})});
  IdentityBuffer scratch;
  IdentityBuffer other;
  const auto row = keyspace.identity_of_row(0, Row{"acme", "7"}, scratch);
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->identity, keyspace.match("order:acme:7", other).identity);
  EXPECT_EQ((*row)->identity, keyspace.match("7/acme", other).identity);
}

TEST(RowIdentity, integer_rows_carry_their_number) {
  const Keyspace keyspace = must_build({space("users", {"user:{id:int64}"})});
  IdentityBuffer scratch;
  EXPECT_EQ((*keyspace.identity_of_row(0, Row{"41"}, scratch))->number, 41U);
  EXPECT_EQ((*keyspace.identity_of_row(0, Row{"-41"}, scratch))->number, std::nullopt);
}

TEST(RowIdentity, a_number_is_known_without_the_zeros_of_its_scale) {
  const Keyspace keyspace = must_build({space("prices", {"price:{p:numeric}"})});
  IdentityBuffer scratch;
  for (const auto& [value, identity] :
       {std::pair("1.10", "1.1"), {"1.00", "1"}, {"100", "100"}, {"-0.50", "-0.5"}, {"0.0", "0"}}) {
    EXPECT_EQ((*keyspace.identity_of_row(0, Row{value}, scratch))->identity, identity) << value;
  }
}

TEST(RowIdentity, what_no_key_of_its_type_has_is_none) {
  const Keyspace keyspace =
      must_build({space("days", {"day:{d:date}:{n:numeric}", "v{_}:{n:numeric}:{d:date}"})});
  IdentityBuffer scratch;
  for (const Row& row : {Row{"infinity", "1"},
                         Row{"0044-03-15 BC", "1"},
                         Row{"10000-01-01", "1"},
                         Row{"2024-01-01", "NaN"}}) {
    const auto result = keyspace.identity_of_row(0, row, scratch);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(*result, std::nullopt);
  }
}

TEST(RowIdentity, a_uuid_is_known_by_its_small_letters_and_other_texts_by_themselves) {
  const Keyspace keyspace = must_build({space("users", {"user:{id:uuid}"})});
  IdentityBuffer scratch;
  EXPECT_EQ((*keyspace.identity_of_row(0, Row{"0189FE5C-09AF-7000-8000-ABCDEF012345  "}, scratch))
                ->identity,
            "0189fe5c-09af-7000-8000-abcdef012345");
  EXPECT_EQ((*keyspace.identity_of_row(0, Row{"Nobody"}, scratch))->identity, "nobody");
  // A collation may take its last letter for an e.
  const Row accented{"0189fe5c-09af-7000-8000-abcdef01234\xc3\xa9"};
  EXPECT_TRUE((*keyspace.identity_of_row(0, accented, scratch))->is_isolated);
  EXPECT_TRUE(may_be(keyspace, 0, accented, "user:0189fe5c-09af-7000-8000-abcdef01234e"));
  EXPECT_FALSE(may_be(keyspace, 0, accented, "user:0189fe5c-09af-7000-8000-abcdef11234e"));
}

TEST(RowIdentity, a_null_value_means_no_key) {
  const Keyspace keyspace = must_build({space("orders", {"order:{t}:{id}"})});
  IdentityBuffer scratch;
  const auto row = keyspace.identity_of_row(0, Row{"acme", std::nullopt}, scratch);
  ASSERT_TRUE(row);
  EXPECT_EQ(*row, std::nullopt);
}

TEST(RowIdentity, rows_whose_key_is_unguarded_have_none) {
  const Keyspace keyspace = must_build({space("orders", {"order:{t}:{id:uint64}"})});
  IdentityBuffer scratch;
  const std::string long_text(kKeyBytesMax, 'a');
  for (const Row& row : {Row{"a:b", "7"}, Row{"", "7"}, Row{"a", "-7"}, Row{long_text, "7"}}) {
    const auto result = keyspace.identity_of_row(0, row, scratch);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(*result, std::nullopt);
  }
}

// SQL may find the first by 7, the second by 0, and the third by no integer.
TEST(RowIdentity, rows_with_texts_where_keys_have_integers_are_found_by_what_sql_takes_them_for) {
  NamespaceTemplates canonical = space("users", {"user:{id:uint64}", "u-{id:uint64}"});
  canonical.canonical_keys = true;
  const Keyspace keyspace = must_build({canonical});
  for (const auto& [text, keys] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"007", {"user:007", "u-7"}}, {"seven", {"user:seven", "u-0"}}, {"7.5", {"user:7.5"}}}) {
    for (const std::string& key : keys) {
      EXPECT_TRUE(may_be(keyspace, 0, {text}, key)) << text << ' ' << key;
    }
    EXPECT_FALSE(may_be(keyspace, 0, {text}, "user:8")) << text;
  }
}

TEST(RowIdentity, rows_with_texts_that_sql_takes_for_several_integers_are_named) {
  const Keyspace keyspace = must_build({space("orders", {"order:{t}:{id:uint64}"})});
  EXPECT_EQ(error_of(keyspace, {"a", "9007199254740993x"}).what,
            R"(row t="a", id="9007199254740993x" cannot be identified by its keys: )"
            "SQL may treat a text that is not an integer as any of several integers");
}

TEST(RowIdentity, rows_with_texts_for_integers_whose_key_is_claimed_elsewhere_are_named) {
  const Keyspace keyspace =
      must_build({space("users", {"user:{id:uint64}"}), space("vip", {"user:vip:{id}"})});
  EXPECT_EQ(error_of(keyspace, {"vip:7"}).reason, Reason::other_namespace);
  EXPECT_TRUE(may_be(keyspace, 0, {"vip:7"}, "user:vip:7"));
  EXPECT_EQ(keyspace.loss(0, 0), Loss::texts) << "a checkpoint says what was accepted";
}

TEST(RowIdentity, a_row_is_what_its_key_carries) {
  const Keyspace keyspace = must_build({space("pairs", {"{a}-{b}"})});
  IdentityBuffer scratch;
  IdentityBuffer other;
  const auto row = keyspace.identity_of_row(0, Row{"x-y", "z"}, scratch);
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->identity, keyspace.match("x-y-z", other).identity);
}

TEST(RowIdentity, a_row_whose_key_is_impossible_is_found_by_it) {
  NamespaceTemplates canonical = space("users", {"user:{id:uint64}", "u-{id:uint64}"});
  canonical.canonical_keys = true;
  const Keyspace keyspace = must_build({canonical});
  for (const std::string key : {"user:-5", "u--5"}) {
    EXPECT_TRUE(may_be(keyspace, 0, {"-5"}, key)) << key;
  }
}

TEST(RowIdentity, rows_whose_keys_carry_different_values_are_isolated) {
  const Keyspace keyspace = must_build({space("pairs", {"{a}-{b}", "/{b}-{a}"})});
  for (const std::string key : {"x-y-z", "/z-x-y"}) {
    EXPECT_TRUE(may_be(keyspace, 0, {"x-y", "z"}, key)) << key;
  }
  EXPECT_FALSE(may_be(keyspace, 0, {"x-y", "z"}, "/z-x"));
  IdentityBuffer scratch;
  EXPECT_TRUE((*keyspace.identity_of_row(0, Row{"x-y", "z"}, scratch))->is_isolated);
}

TEST(RowIdentity, one_key_that_is_judged_is_enough) {
  const Keyspace rest_first = must_build({space("paths", {"a:{x:rest}", "b:{x}"})});
  IdentityBuffer scratch;
  const auto row = rest_first.identity_of_row(0, Row{"p:q"}, scratch);
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->identity, "p:q");
}

TEST(RowIdentity, rows_whose_key_another_namespace_claims_are_found_by_it) {
  const Keyspace keyspace = must_build({space("pages", {"page:{slug}", "p:{slug}"}),
                                        space("drafts", {"page:draft:{id}"}),
                                        space("paths", {"page:x:y{path:rest}"})});
  for (const auto& [slug, key] :
       {std::pair("draft:42", "page:draft:42"), {"x:yz:", "page:x:yz:"}}) {
    EXPECT_TRUE(may_be(keyspace, 0, {slug}, key)) << key;
    EXPECT_FALSE(may_be(keyspace, 0, {"draft:41"}, key)) << key;
  }
}

// Where a longer prefix is not the key's, a shorter one is.
TEST(RowIdentity, rows_whose_key_a_shorter_prefix_claims_are_found_by_it) {
  const Keyspace keyspace =
      must_build({space("drafts", {"page:draft:{id}"}), space("pages", {"page:{path:rest}"})});
  EXPECT_TRUE(may_be(keyspace, 0, {"4:2"}, "page:draft:4:2"));
  EXPECT_TRUE(may_be(keyspace, 0, {""}, "page:draft:"));
}

TEST(RowIdentity, rows_of_several_values_are_found_by_keys_that_others_claim) {
  const Keyspace keyspace = must_build(
      {space("pages", {"page:{lang}:{slug}"}), space("drafts", {"page:draft:{id:rest}"})});
  EXPECT_TRUE(may_be(keyspace, 0, {"draft", "42"}, "page:draft:42"));
  EXPECT_TRUE(may_be(keyspace, 0, {"draft:4", "2"}, "page:draft:4:2"));
  EXPECT_FALSE(may_be(keyspace, 0, {"draft:4", "2"}, "page:draft:42"));
}

TEST(RowIdentity, ci_rows_are_found_in_any_spelling_by_keys_that_others_claim) {
  const Keyspace keyspace =
      must_build({space("pages", {"page:{lang|ci}:{slug|ci}", "page-{slug|ci}:{lang|ci}"}),
                  space("drafts", {"page:x:y:{id:rest}", "page:x:Y:{id:rest}"})});
  for (const std::string key : {"page:x:y:z", "page:x:Y:Z  ", "page:x:y :z"}) {
    EXPECT_TRUE(may_be(keyspace, 0, {"X:y", "z"}, key)) << key;
  }
  EXPECT_FALSE(may_be(keyspace, 0, {"X:y", "z"}, "page:x:y:zz"));
  EXPECT_TRUE(may_be(keyspace, 0, {"x\uff1ay", "z"}, "page:x:y:z")) << "a colon to a collation";
  EXPECT_TRUE(may_be(keyspace, 0, {"none", "is"}, "page:x:y:\xc3\xa9")) << "anything to one";
}

TEST(Makers, are_none_where_a_row_of_integers_cannot_have_the_key) {
  const Keyspace keyspace = must_build({space("users", {"user:{id:uint64}"}),
                                        space("profiles", {"user:profile:{id}"}),
                                        space("carts", {"{tenant}:cart:{id:uint64}"}),
                                        space("orders", {"{tenant}:order:{id}"})});
  IdentityBuffer scratch;
  for (const std::string key : {"user:7", "user:profile:7", "a:cart:7"}) {
    const Lookup found = keyspace.match(key, scratch);
    ASSERT_EQ(found.kind, Lookup::Kind::guarded);
    EXPECT_TRUE(keyspace.makers_of(found).empty()) << key;
  }
}

// A collation may take a fullwidth colon for ':', and then the rest of its value is the next one's
// in a key.
TEST(RowIdentity, what_may_end_a_ci_value_in_a_key_may_be_anywhere) {
  const Keyspace keyspace = must_build({space("docs", {"j:{b}:{a|ci}", "k:{a|ci}:{b:rest}"})});
  IdentityBuffer scratch;
  for (const auto& [a, key] :
       {std::pair("x\uff1ay", "k:x:y:z"), std::pair("ab \uff1ac", "k:ab :c:z")}) {
    const Row by_columns = keyspace.identity_columns(0).front() == "a" ? Row{a, "z"} : Row{"z", a};
    const auto row = keyspace.identity_of_row(0, by_columns, scratch);
    ASSERT_TRUE(row && *row && (*row)->is_isolated);
    IdentityBuffer other;
    EXPECT_TRUE(keyspace.pattern_of_row(0, by_columns).matches(keyspace.match(key, other).identity))
        << key;
  }
}

TEST(RowIdentity, what_may_end_a_ci_value_before_an_integer_may_be_anywhere) {
  NamespaceTemplates canonical = space("docs", {"k:{a|ci}:{n:uint64}:{b:rest}"});
  canonical.canonical_keys = true;
  const Keyspace keyspace = must_build({canonical});
  EXPECT_TRUE(may_be(keyspace, 0, {"x\uff1ay", "7", "z"}, "k:x:y:7:z"));
}

TEST(RowIdentity, ci_rows_that_could_equal_other_text_are_isolated) {
  const Keyspace keyspace = must_build({space("users", {"user:{name|ci}"})});
  IdentityBuffer scratch;
  for (const char* const name : {"B\xc3\xb6"
                                 "b",
                                 "a\tb"}) {
    const auto row = keyspace.identity_of_row(0, Row{name}, scratch);
    ASSERT_TRUE(row && *row);
    EXPECT_TRUE((*row)->is_isolated);
  }
  EXPECT_TRUE(keyspace.pattern_of_row(0, Row{"a\tb"}).matches("a-b"));
}

TEST(RowIdentity, ci_rows_that_equal_no_ascii_have_no_key) {
  const Keyspace keyspace = must_build({space("users", {"user:{name|ci}"})});
  IdentityBuffer scratch;
  const auto row = keyspace.identity_of_row(0, Row{"Ivan \xd0\x98"}, scratch);
  ASSERT_TRUE(row);
  EXPECT_EQ(*row, std::nullopt);
}

TEST(RowIdentity, blank_ci_rows_are_what_a_key_of_spaces_carries) {
  const Keyspace keyspace = must_build({space("users", {"user:{name|ci}"})});
  IdentityBuffer scratch;
  IdentityBuffer other;
  for (const char* const name : {"", "  "}) {
    const auto row = keyspace.identity_of_row(0, Row{name}, scratch);
    ASSERT_TRUE(row && *row);
    EXPECT_EQ((*row)->identity, keyspace.match("user:   ", other).identity);
  }
}

TEST(RowIdentity, rows_that_a_wildcard_could_swallow_are_named) {
  const Keyspace keyspace = must_build({space("users", {"{_}-{id}"})});
  EXPECT_EQ(error_of(keyspace, {"a-b"}).reason, Reason::does_not_parse_back)
      << "the key v-a-b may be row a-b under v, or row b under v-a";
}

TEST(RowIdentity, rows_whose_keys_depend_on_a_wildcard_are_named) {
  const Keyspace keyspace = must_build({space("users", {"{a}:{_}:{b}"})});
  EXPECT_EQ(error_of(keyspace, {"x:y", "z"}).reason, Reason::does_not_parse_back);
}

TEST(RowIdentity, calling_with_the_wrong_number_of_values_throws) {
  const Keyspace keyspace = must_build({space("users", {"user:{id}"})});
  IdentityBuffer scratch;
  EXPECT_THROW((void)keyspace.identity_of_row(0, Row{}, scratch), std::invalid_argument);
  EXPECT_THROW((void)keyspace.identity_of_row(1, Row{"1"}, scratch), std::out_of_range);
}

}  // namespace
}  // namespace cuckooguard::keyspace
