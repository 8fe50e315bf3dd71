#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/load_report.h"

namespace cuckooguard::app {
namespace {

using testing::ElementsAre;

TEST(RefusalsTest, what_is_of_the_whole_source_names_no_namespace) {
  EXPECT_THAT(Refusals({{.what = "no log"}, {.what = "no right"}}).sentences("shop"),
              ElementsAre("source shop: no log", "source shop: no right"));
}

TEST(RefusalsTest, a_cause_is_told_once_with_all_its_namespaces) {
  EXPECT_THAT(Refusals({{.ns = "users", .what = "no grant"},
                        {.ns = "codes", .what = "no file"},
                        {.ns = "guests", .what = "no grant"},
                        {.ns = "users", .what = "no grant"}})
                  .sentences("shop"),
              ElementsAre("source shop, namespaces users, guests: no grant",
                          "source shop, namespace codes: no file"));
}

TEST(RefusalsTest, tables_that_have_the_same_wrong_are_one_cause_whatever_they_are_called) {
  EXPECT_THAT(
      Refusals({{.ns = "users", .table = "user_1", .what = "table `user_1` has no key"},
                {.ns = "users", .table = "user_2", .what = "table `user_2` has no key"},
                {.ns = "users", .table = "user_3", .what = "table `user_3` has no column `key`"},
                {.ns = "carts", .table = "cart", .what = "table \"cart\" has no key"}})
          .sentences("shop"),
      ElementsAre("source shop, namespaces users, carts, tables user_1, user_2, cart: table "
                  "`user_1` has no key",
                  "source shop, namespace users: table `user_3` has no column `key`"));
}

TEST(RefusalsTest, a_table_is_named_where_the_reason_does_not_name_it) {
  EXPECT_THAT(Refusals({{.ns = "users", .table = "user_1", .what = "column `id` is a SET"}})
                  .sentences("shop"),
              ElementsAre("source shop, namespace users, table user_1: column `id` is a SET"));
}

TEST(RefusalsTest, of_many_shards_the_first_are_named_and_the_others_counted) {
  Refusals refusals;
  for (int i = 1; i <= 100; ++i) {
    const std::string table = "u" + std::to_string(i);
    refusals.add({.ns = "users", .table = table, .what = "table `" + table + "` has no key"});
  }
  EXPECT_THAT(refusals.sentences("shop"),
              ElementsAre("source shop, namespace users, tables u1, u2, u3, u4, u5, u6, u7, u8, "
                          "u9, u10, u11, u12 and 88 more: table `u1` has no key"));
}

TEST(RefusalsTest, of_several_sources_each_cause_is_told_once) {
  const source::Refusal log{.what = "no log"};
  const source::Refusal grant{.what = "no grant"};
  const source::Refusal of_users{.ns = "users", .what = "no log"};
  const RefusedSources refused{{"shop", Refusals(std::vector{log, grant})},
                               {"blog", Refusals(std::vector{log})},
                               {"crm", Refusals(std::vector{of_users})}};
  EXPECT_THAT(Refusals::sentences(refused),
              ElementsAre("sources shop, blog: no log",
                          "source shop: no grant",
                          "source crm, namespace users: no log"));
}

TEST(RefusalsTest, explain_a_namespace_by_what_is_told_of_it_or_of_the_source) {
  Refusals refusals;
  EXPECT_FALSE(refusals.explain("users"));
  refusals.add({.ns = "users", .what = "no grant"});
  EXPECT_TRUE(refusals.explain("users"));
  EXPECT_FALSE(refusals.explain("guests"));
  refusals.add({.what = "no log"});
  EXPECT_TRUE(refusals.explain("guests"));
}

}  // namespace
}  // namespace cuckooguard::app
