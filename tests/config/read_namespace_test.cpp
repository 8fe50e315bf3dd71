#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/read_config.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::with_namespace;

Namespace namespace_of(std::string_view settings) {
  return testing::config_of(with_namespace(settings)).namespaces.at(0);
}

// Only the lines behind with_namespace's own six.
std::vector<std::string> namespace_errors(std::string_view settings) {
  return errors_of(with_namespace(settings));
}

TEST(ReadNamespace, what_is_left_out_has_its_default) {
  const Namespace users = namespace_of("");
  EXPECT_EQ(users.name, "users");
  EXPECT_EQ(users.keys.at(0).text(), "user:{id:uint64}");
  EXPECT_EQ(users.mode, Mode::observe);
  EXPECT_EQ(users.order, Order::guard_first);
  EXPECT_EQ(users.absent_reply, std::nullopt);
  EXPECT_DOUBLE_EQ(users.verify_sample, 0.0001);
  EXPECT_EQ(users.db, 0);
  EXPECT_FALSE(users.canonical_keys);
  EXPECT_EQ(users.consistency, Consistency::automatic);
  EXPECT_EQ(users.tolerate, 0) << "every absent key is answered";
  EXPECT_EQ(users.fresh_ids, FreshIds{});
  EXPECT_EQ(users.filter, Filter{});
  EXPECT_EQ(users.overlay, Overlay{});
}

TEST(ReadNamespace, every_setting_arrives) {
  const Namespace users = namespace_of(
      "    mode: enforce\n"
      "    order: redis-first\n"
      "    absent_reply: 'bytes:*'\n"
      "    verify_sample: 5%\n"
      "    db: 3\n"
      "    canonical_keys: true\n"
      "    consistency: strict\n"
      "    tolerate: 30/min\n"
      "    fresh_ids: 500\n"
      "    filter: { false_positive_rate: 1%, capacity: 20M }\n"
      "    overlay: { ttl: 2m, max_keys: 5k }\n");
  EXPECT_EQ(users.mode, Mode::enforce);
  EXPECT_EQ(users.order, Order::redis_first);
  EXPECT_EQ(users.absent_reply, (AbsentReply{false, "*"}));
  EXPECT_DOUBLE_EQ(users.verify_sample, 0.05);
  EXPECT_EQ(users.db, 3);
  EXPECT_TRUE(users.canonical_keys);
  EXPECT_EQ(users.consistency, Consistency::strict);
  EXPECT_DOUBLE_EQ(users.tolerate, 0.5);
  EXPECT_EQ(users.fresh_ids, (FreshIds{FreshIds::Kind::window, 500}));
  EXPECT_EQ(users.filter, (Filter{0.01, 20'000'000}));
  EXPECT_EQ(users.overlay, (Overlay{120s, 5000}));
}

TEST(ReadNamespace, columns_are_the_placeholders_where_they_are_left_out) {
  const Config config = testing::config_of(
      "sources: { shop: { type: sqlite, path: /x } }\n"
      "namespaces:\n"
      "  orders:\n"
      "    keys: [ 'o:{tenant}:{_}:{id}', '{id}/{tenant}' ]\n"
      "    source: { from: shop, table: orders, columns: { id: order_id } }\n");
  EXPECT_THAT(config.namespaces.at(0).source.columns,
              ElementsAre(Pair("id", "order_id"), Pair("tenant", "tenant")));
  EXPECT_THAT(config.namespaces.at(0).source.tables, ElementsAre("orders"));
  EXPECT_TRUE(config.namespaces.at(0).source.is_one_table());
  EXPECT_EQ(config.namespaces.at(0).source.from, "shop");
}

TEST(ReadNamespace, a_namespace_has_one_table_a_list_or_patterns) {
  const auto source = [](const std::string& table) {
    return testing::config_of(
               "sources: { shop: { type: sqlite, path: /x } }\n"
               "namespaces: { a: { keys: 'a:{b}', source: { from: shop, table: " +
               table + " } } }\n")
        .namespaces.at(0)
        .source;
  };
  EXPECT_THAT(source("[ user, old_user ]").tables, ElementsAre("user", "old_user"));
  EXPECT_FALSE(source("[ user, old_user ]").is_one_table());
  EXPECT_THAT(source("'user_*'").tables, ElementsAre("user_*"));
  EXPECT_FALSE(source("'user_*'").is_one_table());
  EXPECT_FALSE(source("'user_?'").is_one_table());
  EXPECT_TRUE(source("[ user ]").is_one_table());
}

TEST(ReadNamespace, a_table_that_is_empty_or_named_twice_is_refused) {
  const std::string start =
      "sources: { shop: { type: sqlite, path: /x } }\n"
      "namespaces:\n"
      "  a: { keys: 'a:{b}', source: { from: shop, table: ";
  EXPECT_THAT(errors_of(start + "[ user, user ] } }\n"),
              ElementsAre("3:60: table: \"user\" is listed twice"));
  EXPECT_THAT(errors_of(start + "[ user, '' ] } }\n"), ElementsAre("3:60: table: \"\" is empty"));
}

TEST(ReadNamespace, columns_of_unknown_placeholders_are_refused) {
  EXPECT_THAT(errors_of("sources: { shop: { type: sqlite, path: /x } }\n"
                        "namespaces:\n"
                        "  users:\n"
                        "    keys: 'user:{user_id}'\n"
                        "    source: { from: shop, table: user, columns: { userid: id } }\n"),
              ElementsAre("5:51: columns: no template in keys has the placeholder \"userid\", did "
                          "you mean \"user_id\"?"));
}

TEST(ReadNamespace, columns_must_be_a_mapping_of_texts) {
  const std::string start =
      "sources: { shop: { type: sqlite, path: /x } }\n"
      "namespaces:\n"
      "  users:\n"
      "    keys: 'user:{id}'\n";
  EXPECT_THAT(errors_of(start + "    source: { from: shop, table: user, columns: id }\n"),
              ElementsAre(HasSubstr("5:49: columns must map")));
  EXPECT_THAT(
      errors_of(start + "    source: { from: shop, table: user, columns: { id: [ a ] } }\n"),
      ElementsAre("5:55: id must be a single value"));
}

TEST(ReadNamespace, types_are_of_columns_that_are_read) {
  const auto text = [](const std::string& types) {
    return "sources: { cdc: { type: debezium, connector: mysql, topic_prefix: shop } }\n"
           "namespaces:\n"
           "  items:\n"
           "    keys: 'item:{code}:{price:int64}'\n"
           "    source: { from: cdc, table: a.b, columns: { code: sku }, where: 'kind = 7',\n"
           "              types: " +
           types + " }\n";
  };
  EXPECT_THAT(
      testing::config_of(text("{ sku: string, price: decimal(2), kind: decimal text }"))
          .namespaces.at(0)
          .source.types,
      ElementsAre(
          Pair("kind", "decimal text"), Pair("price", "decimal(2)"), Pair("sku", "string")));
  EXPECT_THAT(errors_of(text("{ code: string }")),
              ElementsAre("6:24: types: neither keys nor where have the column \"code\"; valid: "
                          "kind, sku, price"));
  EXPECT_THAT(
      errors_of(text("{ sku: varchar }")),
      ElementsAre(HasSubstr("6:29: types: \"sku\" \"varchar\": is unknown; valid: integer")));
  for (const char* const type : {"decimal", "decimal()", "decimal(-1)", "decimal(2001)"}) {
    EXPECT_THAT(errors_of(text(std::string("{ price: ") + type + " }")),
                ElementsAre(HasSubstr("must have a scale, such as decimal(2)")));
  }
  EXPECT_THAT(errors_of(text("string")), ElementsAre(HasSubstr("6:22: types must map")));
  EXPECT_THAT(errors_of(text("{ sku: [ a ] }")), ElementsAre("6:29: sku must be a single value"));
}

TEST(ReadNamespace, a_condition_says_which_rows_count) {
  const std::string start =
      "sources: { shop: { type: sqlite, path: /x } }\n"
      "namespaces:\n"
      "  users:\n"
      "    keys: 'user:{id}'\n"
      "    source: { from: shop, table: user";
  EXPECT_THAT(testing::config_of(start + " }\n").namespaces.at(0).source.where.columns(),
              IsEmpty());
  EXPECT_EQ(testing::config_of(start + ", where: \"deleted_at IS NULL AND status <> 'draft'\" }\n")
                .namespaces.at(0)
                .source.where.text(),
            "`deleted_at` IS NULL AND `status` <> ('draft')");
  EXPECT_THAT(errors_of(start + ", where: id > 7 }\n"),
              ElementsAre("5:47: where: \"id > 7\" needs IS, IN, = or <> at character 4"));
}

TEST(ReadNamespace, deletes_are_one_of_four) {
  const auto deletes_of = [](const std::string& word) {
    return testing::config_of(
               "sources: { shop: { type: sqlite, path: /x } }\n"
               "namespaces:\n"
               "  users: { keys: 'user:{id}', source: { from: shop, table: user }, filter: { " +
               word + " } }\n")
        .namespaces.at(0)
        .filter.deletes;
  };
  EXPECT_EQ(deletes_of("capacity: 5"), Deletes::automatic);
  EXPECT_EQ(deletes_of("deletes: auto"), Deletes::automatic);
  EXPECT_EQ(deletes_of("deletes: trusted"), Deletes::trusted);
  EXPECT_EQ(deletes_of("deletes: deferred"), Deletes::deferred);
  EXPECT_EQ(deletes_of("deletes: exact"), Deletes::exact);
}

TEST(ReadNamespace, the_order_is_one_of_two_and_a_sample_is_a_share) {
  EXPECT_EQ(namespace_of("    order: guard-first\n").order, Order::guard_first);
  EXPECT_THAT(namespace_errors("    order: first\n"),
              ElementsAre(HasSubstr("guard-first, redis-first")));
  EXPECT_DOUBLE_EQ(namespace_of("    verify_sample: 0%\n").verify_sample, 0);
  EXPECT_DOUBLE_EQ(namespace_of("    verify_sample: 100%\n").verify_sample, 1);
  EXPECT_THAT(namespace_errors("    verify_sample: 100.5%\n"),
              ElementsAre(HasSubstr("must be from 0% to 100%")));
}

TEST(ReadNamespace, a_bad_template_is_reported_at_the_byte) {
  EXPECT_THAT(errors_of("namespaces:\n"
                        "  users:\n"
                        "    keys: [ 'user:{id}', \"user:{id\", x ]\n"
                        "    source: { from: shop }\n"),
              ::testing::Contains(HasSubstr("3:32: keys: \"user:{id\" has a '{' without a '}'")));
  EXPECT_THAT(errors_of("namespaces:\n"
                        "  users:\n"
                        "    keys: user:{id:int}\n"
                        "    source: { from: shop }\n"),
              ::testing::Contains(HasSubstr(
                  "3:19: keys: \"user:{id:int}\" has \":int\" after a placeholder's name")));
}

TEST(ReadNamespace, enforce_needs_an_absent_reply_and_the_error_explains_the_choice) {
  const auto errors = namespace_errors("    mode: enforce\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0], HasSubstr("7:11: mode enforce requires absent_reply"));
  for (const char* const choice : {"absent_reply: nil ",
                                   "empty | go-zero | ",
                                   " | gorm-cache ",
                                   "cuckooguard presets",
                                   "\"bytes:TEXT\"",
                                   "\"hex:DIGITS\"",
                                   "mode: observe"}) {
    EXPECT_THAT(errors[0], HasSubstr(choice));
  }
  EXPECT_EQ(std::ranges::count(errors[0], '\n'), 3) << "four lines";
  EXPECT_THAT(namespace_errors("    mode: observe\n"), IsEmpty());
  EXPECT_THAT(namespace_errors("    mode: bypass\n"), IsEmpty());
}

TEST(ReadNamespace, a_wrong_absent_reply_is_not_also_a_missing_one) {
  EXPECT_THAT(
      namespace_errors("    mode: enforce\n    absent_reply: gozero\n"),
      ElementsAre(
          "8:19: absent_reply: \"gozero\" is not an absent reply, did you mean \"go-zero\"?"));
}

TEST(ReadNamespace, what_filter_commands_name_is_one_value_of_one_namespace) {
  EXPECT_THAT(
      errors_of(
          "sources: { shop: { type: sqlite, path: /x } }\n"
          "namespaces:\n"
          "  a: { keys: 'a:{x}:{y}', commands: { key: f }, source: { from: shop, table: t } }\n"
          "  b: { keys: 'b:{_}:{y}', commands: { key: g }, source: { from: shop, table: t } }\n"
          "  c: { keys: 'c:{x}', commands: { key: h }, source: { from: shop, table: t } }\n"
          "  d: { keys: 'd:{x}', commands: { key: h }, source: { from: shop, table: t } }\n"),
      ElementsAre(
          HasSubstr("3:44: commands: the first template of keys must have exactly one placeholder"),
          HasSubstr("4:44: commands: the first template of keys must have exactly one placeholder"),
          HasSubstr("6:40: commands: \"h\" is already the filter of namespace c")));
}

TEST(ReadNamespace, canonical_keys_need_an_integer) {
  EXPECT_THAT(
      errors_of("sources: { shop: { type: sqlite, path: /x } }\nnamespaces:\n  users: { keys: "
                "'user:{id}', canonical_keys: true, source: { from: shop, table: user } }\n"),
      ElementsAre(HasSubstr("3:47: canonical_keys: true needs an integer placeholder in keys")));
}

TEST(ReadNamespace, canonical_keys_have_an_old_name_for_one_more_release) {
  const auto read =
      parse_effective(with_namespace("    strict: true\n"), "guard.yaml", testing::lookup_in({}));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->config.namespaces.at(0).canonical_keys);
  ASSERT_EQ(read->warnings.size(), 1U);
  EXPECT_THAT(read->warnings[0].text(),
              ::testing::StartsWith("guard.yaml:7:5: strict has been renamed to canonical_keys"));
  EXPECT_THAT(print_settings(read->settings),
              ::testing::ContainsRegex("    canonical_keys: true +# guard.yaml:7\n"));

  const auto renamed = parse_effective(
      with_namespace("    canonical_keys: true\n"), "guard.yaml", testing::lookup_in({}));
  ASSERT_TRUE(renamed);
  EXPECT_EQ(renamed->config, read->config);
  EXPECT_THAT(renamed->warnings, IsEmpty());
}

TEST(ReadNamespace, the_old_name_beside_the_new_one_is_an_error_even_if_they_agree) {
  EXPECT_THAT(namespace_errors("    canonical_keys: true\n"
                               "    strict: true\n"),
              ElementsAre(HasSubstr("8:5: strict and canonical_keys are both set")));
  EXPECT_THAT(namespace_errors("    strict: 1\n"),
              ElementsAre(HasSubstr("7:13: canonical_keys: \"1\" must be true or false")));
}

TEST(ReadNamespace, at_most_a_million_reads_per_second_are_tolerated) {
  EXPECT_DOUBLE_EQ(namespace_of("    tolerate: 1M/s\n").tolerate, 1'000'000);
  EXPECT_THAT(namespace_errors("    tolerate: 2M/s\n"),
              ElementsAre(HasSubstr("7:15: tolerate: \"2M/s\" must be at most 1M/s")));
}

TEST(ReadNamespace, values_out_of_range_are_refused) {
  EXPECT_THAT(namespace_errors("    db: 2147483648\n"), ElementsAre(HasSubstr("7:9: db: ")));
  EXPECT_THAT(namespace_errors("    filter: { false_positive_rate: 0% }\n"),
              ElementsAre(HasSubstr("from 0.0001% to 10%")));
  EXPECT_THAT(namespace_errors("    filter: { false_positive_rate: 11% }\n"),
              ElementsAre(HasSubstr("from 0.0001% to 10%")));
  EXPECT_THAT(namespace_errors("    filter: { capacity: 0 }\n"),
              ElementsAre(HasSubstr("must be auto, or from 1")));
  EXPECT_THAT(namespace_errors("    overlay: { ttl: 1500ms }\n"),
              ElementsAre(HasSubstr("must be a whole number of seconds")));
  EXPECT_THAT(namespace_errors("    overlay: { ttl: 0s }\n"),
              ElementsAre(HasSubstr("must be from 1s to 1d")));
  EXPECT_THAT(namespace_errors("    overlay: { max_keys: 0 }\n"),
              ElementsAre(HasSubstr("must be from 1 to 1G")));
}

TEST(ReadNamespace, needs_keys_and_a_source) {
  EXPECT_THAT(errors_of("namespaces:\n  users: { mode: bypass }\n"),
              ElementsAre("2:3: keys is missing", "2:3: source is missing"));
  EXPECT_THAT(errors_of("namespaces:\n  users: { keys: 'a:{b}', source: { table: c } }\n"),
              ElementsAre("2:27: from is missing"));
}

TEST(ReadNamespace, a_misspelled_key_is_the_only_complaint) {
  EXPECT_THAT(namespace_errors("    mode: enforce\n    absent_repli: nil\n"),
              ElementsAre(HasSubstr("unknown key absent_repli, did you mean \"absent_reply\"?")));
}

}  // namespace
}  // namespace cuckooguard::config
