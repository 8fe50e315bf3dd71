#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options.h"
#include "config/parse.h"

namespace cuckooguard::cli {
namespace {

using testing::HasSubstr;

std::string explained(std::string_view key, const std::string& keys, const std::string& more = "") {
  return explain_key(
      config::testing::config_of("sources: { shop: { type: sqlite, path: /shop.db } }\n"
                                 "namespaces:\n"
                                 "  users:\n"
                                 "    keys: " +
                                 keys + "\n    source: { from: shop, table: user" + more + " }\n"),
      key);
}

TEST(Explain, a_key_of_a_namespace_is_taken_to_pieces) {
  EXPECT_EQ(
      explained("order:acme:42", "'order:{tenant}:{id:uint64}'", ", columns: { id: order_id }"),
      "key: \"order:acme:42\"\n"
      "namespace: users\n"
      "template: order:{tenant}:{id:uint64}\n"
      "tenant: \"acme\"\n"
      "order_id: \"42\"\n"
      "mode: observe\n"
      "db: 0\n"
      "source: shop, table user\n");
}

TEST(Explain, the_template_that_wins_is_named) {
  const std::string keys = "[ '{x}:{id}', 'user:{x}:{id}' ]";
  EXPECT_THAT(explained("user:a:1", keys), HasSubstr("template: user:{x}:{id}\n"));
  EXPECT_THAT(explained("cart:1", keys), HasSubstr("template: {x}:{id}\n"));
}

TEST(Explain, the_namespaces_are_named_whose_rows_can_have_the_key_too) {
  const std::string keys =
      "'page:draft:{id}'\n    source: { from: shop, table: draft }\n  pages: { keys: "
      "\"page:{slug}\", source: { from: shop, table: page } }\n  others:\n    keys: 'other:{id}'";
  EXPECT_THAT(explained("page:draft:42", keys),
              HasSubstr("shared: rows of pages can have this key as well\n"));
  EXPECT_THAT(explained("page:home", keys), testing::Not(HasSubstr("shared")));
}

TEST(Explain, a_key_of_none_is_shown_where_the_nearest_template_ceases) {
  EXPECT_THAT(
      explained("usr:42", "'user:{id:uint64}'"),
      HasSubstr(
          "namespace: none: reads of this key are forwarded to Redis\nnearest: user:{id:uint64} of "
          "namespace users\nwhy: at byte 2, before \"r:42\", the template has \"er:\"\n"));
  EXPECT_THAT(explained("user:42:cart", "'user:{id:uint64}'"),
              HasSubstr("why: at byte 7, before \":cart\", the value of {id} would contain ':'"));
  EXPECT_THAT(explained("user:42", "'user:{id}:profile'"),
              HasSubstr("the template has \":profile\" after {id}"));
  EXPECT_THAT(explained("user::profile", "'user:{id}:profile'"),
              HasSubstr("why: at byte 5, before \":profile\", the value of {id} is empty"));
  EXPECT_THAT(explained("user:", "'user:{id}'"), HasSubstr("the value of {id} is empty"));
  EXPECT_THAT(explained("", "'user:{id}'"), HasSubstr("the template has \"user:\""));
}

TEST(Explain, the_nearest_is_the_template_that_goes_the_furthest) {
  EXPECT_THAT(explained("user:42:carts", "[ 'item:{id}', 'user:{id}:cart', 'u:{id}' ]"),
              HasSubstr("nearest: user:{id}:cart of"));
}

TEST(Explain, a_value_that_is_no_canonical_integer_is_said_to_be_none) {
  EXPECT_THAT(explained("user:007", "'user:{id:uint64}'"),
              HasSubstr("why: it matches, but a value is not a canonical integer"));
}

TEST(Explain, bytes_of_a_key_cannot_forge_a_line) {
  EXPECT_THAT(explained("user:1\nnamespace: x", "'user:{id}'"),
              HasSubstr("key: \"user:1\\x0anamespace: x\"\n"));
}

TEST(Explain, a_guard_that_is_not_there_is_named) {
  const AskedGuard nobody{.address = {.host = {}, .port = 0, .unix_path = "/nonexistent/x.sock"}};
  const auto asked = explain_key(nobody, "user:1");
  ASSERT_FALSE(asked);
  EXPECT_THAT(asked.error(), HasSubstr("unix:/nonexistent/x.sock: cannot connect"));
}

TEST(Explain, a_user_without_a_password_is_told_where_it_may_stand) {
  AskedGuard guard{.address = {.host = {}, .port = 0, .unix_path = "/nonexistent/x.sock"},
                   .login = {.user = "bob"}};
  EXPECT_EQ(explain_key(guard, "user:1").error(),
            "--user bob needs a password: --password-file FILE, or REDISCLI_AUTH");
  guard.login.password_file = "/nonexistent/word";
  EXPECT_EQ(explain_key(guard, "user:1").error(),
            "/nonexistent/word: the first line must contain the password");
}

}  // namespace
}  // namespace cuckooguard::cli
