#include "cli/plan.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "config/parse.h"
#include "guests/guests.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Planned : public testing::Test {
 protected:
  Planned() {
    sql("CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE user_2(id INTEGER PRIMARY KEY);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        " INSERT INTO user SELECT i, 'x' FROM n;");
    std::ofstream(folder_ / "codes.txt") << "A\nB\n\nC\n";
  }

  void sql(const std::string& statements) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "shop.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  Plan plan(const std::string& namespaces, const std::string& source = "") {
    return make_plan(config::testing::config_of("sources:\n"
                                                "  shop: { type: sqlite, path: " +
                                                folder_.file("shop.db") + source +
                                                " }\n"
                                                "  codes: { type: file, path: " +
                                                folder_.file("codes.txt") + " }\n" + namespaces),
                     guests::program().guests);
  }

  harness::TemporaryDirectory folder_;
};

constexpr const char* kUsers =
    "namespaces:\n"
    "  users: { keys: 'user:{id:uint64}', source: { from: shop, table: user }";

TEST_F(Planned, rows_are_counted_and_filters_sized_as_a_load_would) {
  const Plan plan = this->plan(std::string(kUsers) + " }\n");
  ASSERT_EQ(plan.tables.size(), 1U);
  const PlannedTable& table = plan.tables[0];
  EXPECT_EQ(table.ns, "users");
  EXPECT_EQ(table.table, "user");
  EXPECT_EQ(table.rows, 20'000U);
  EXPECT_FALSE(table.is_estimate);
  EXPECT_EQ(
      table.steady,
      filter::choose_sizing(0.002, filter::automatic_capacity(20'000), filter::DeleteMode::deferred)
          .bytes());
  EXPECT_EQ(plan.steady, table.steady);
  EXPECT_EQ(plan.rebuild, 2 * table.steady);
  EXPECT_EQ(plan.overlays, 56'000'000U);
  EXPECT_THAT(plan.failures, ElementsAre());
}

TEST_F(Planned, several_tables_share_the_rate_and_a_configured_capacity) {
  const Plan plan = this->plan(
      "namespaces:\n"
      "  users: { keys: 'user:{id:uint64}', source: { from: shop, table: 'user*' },\n"
      "           filter: { capacity: 1M } }\n");
  ASSERT_EQ(plan.tables.size(), 2U);
  const auto half = filter::choose_sizing(0.001, 500'000, filter::DeleteMode::deferred);
  EXPECT_EQ(plan.tables[0].steady, half.bytes());
  EXPECT_EQ(plan.tables[1].steady, half.bytes());
}

TEST_F(Planned, exact_deletes_take_more) {
  const std::string yaml = std::string(kUsers) + ", filter: { deletes: exact } }\n";
  const Plan counted = plan(yaml, ", follow: triggers");
  ASSERT_THAT(counted.failures, ElementsAre());
  const Plan read_again = plan(yaml);
  EXPECT_GT(counted.tables.at(0).steady, read_again.tables.at(0).steady + 20'000U * 9);
  sql("CREATE TABLE cuckooguard_log(x)");  // would fail if the first had written one
}

TEST_F(Planned, files_are_counted_too) {
  const Plan plan =
      this->plan("namespaces: { codes: { keys: 'code:{c}', source: { from: codes } } }\n");
  ASSERT_EQ(plan.tables.size(), 1U);
  EXPECT_EQ(plan.tables[0].rows, 3U);
}

TEST_F(Planned, of_a_filter_in_redis_it_is_not_said_that_it_takes_nothing) {
  const auto text = [](const std::string& more) {
    return describe(
        make_plan(config::testing::config_of(
                      "sources:\n"
                      "  seen: { type: bloom, format: redisbloom, key: seen" +
                      more +
                      " }\n"
                      "namespaces: { seen: { keys: 'seen:{id}', source: { from: seen } } }\n"),
                  guests::program().guests));
  };
  EXPECT_THAT(text(""), testing::ContainsRegex("\nseen +- +\\? +- +\\? +\\?\n"));
  EXPECT_THAT(text(""),
              HasSubstr("\n"
                        "? marks filters that are in Redis, which knows their size. They are not"));
}

TEST_F(Planned, of_what_debezium_writes_the_rows_are_not_known_before_they_are_read) {
  const auto plan = [](const std::string& more) {
    return make_plan(
        config::testing::config_of(
            "sources: { changes: { type: debezium, connector: mysql, topic_prefix: "
            "shop, " +
            more +
            " } }\n"
            "namespaces: { items: { keys: 'item:{id}', source: { from: changes, table: "
            "a.b } } }\n"),
        guests::program().guests);
  };
  const Plan good = plan("freshness: trust_lag");
  EXPECT_THAT(good.failures, ElementsAre());
  EXPECT_EQ(good.steady, 0U) << "nothing is said of it";
  EXPECT_THAT(describe(good), testing::ContainsRegex("\nitems +a.b +\\? +- +\\? +\\?\n"));
  EXPECT_THAT(describe(good), HasSubstr("? marks tables whose rows are known when Debezium's"));
  EXPECT_THAT(plan("freshness: none").failures,
              ElementsAre(HasSubstr("source changes, namespace items: nothing in Debezium's")));
  EXPECT_THAT(plan("freshness: trust_lag, heartbeat_table: beat").failures,
              ElementsAre(HasSubstr("source changes: heartbeat_table: table beat: tables of this "
                                    "source are named as in their topics")));
}

TEST_F(Planned, what_cannot_be_asked_is_named_and_the_rest_is_there) {
  const std::string yaml = std::string(kUsers) +
                           " }\n"
                           "  codes: { keys: 'code:{c}', source: { from: codes } }\n"
                           "  carts: { keys: 'cart:{id}', source: { from: shop, table: cart } }\n";
  const Plan plan = this->plan(yaml);
  EXPECT_EQ(plan.tables.size(), 2U);
  EXPECT_THAT(plan.failures, ElementsAre(HasSubstr("source shop, namespace carts: ")));
  std::filesystem::remove(folder_ / "shop.db");
  EXPECT_THAT(this->plan(yaml).failures,
              ElementsAre(HasSubstr("source shop, namespaces users, carts: ")));
}

TEST_F(Planned, the_text_has_a_line_for_each_table_and_one_for_all) {
  const std::string text = describe(this->plan(std::string(kUsers) + " }\n"));
  EXPECT_THAT(text, HasSubstr("namespace  table    rows"));
  EXPECT_THAT(text, testing::ContainsRegex("\nusers +user +20,000 +1[0-9]\\.[0-9] +[0-9.]+ KiB"));
  EXPECT_THAT(text, HasSubstr("\nall "));
  EXPECT_THAT(text, HasSubstr("up to 53.4 MiB"));
}

TEST_F(Planned, what_a_fleet_costs_is_said_of_who_publishes) {
  Plan plan{.is_published = true, .in_redis = 2'000'000};
  EXPECT_THAT(describe(plan, 400),
              HasSubstr("\n"
                        "A fleet of 400 followers (--guards): the database serves two builders "
                        "with two connections each. Redis stores 1.9 MiB of snapshots"));
  EXPECT_THAT(describe(plan, 400), HasSubstr(" 10.0 % of one core"));
  plan.is_published = false;
  EXPECT_THAT(describe(plan, 400), Not(HasSubstr("A fleet")));
}

TEST_F(Planned, look_ups_that_guards_tolerate_are_of_all_namespaces_and_times_the_guards) {
  const std::string yaml =
      std::string(kUsers) +
      ", tolerate: 10/s }\n"
      "  codes: { keys: 'code:{c}', tolerate: 30/min, source: { from: codes } }\n";
  const Plan plan = this->plan(yaml);
  EXPECT_THAT(describe(plan),
              HasSubstr("\n"
                        "Tolerated look-ups of absent rows that reach the database (tolerate): "
                        "630/min per guard; N guards tolerate N times as many (--guards N).\n"));
  EXPECT_THAT(describe(plan, 12), HasSubstr("630/min per guard; 12 guards: 126/s.\n"));
  EXPECT_THAT(describe(this->plan(std::string(kUsers) + " }\n"), 12),
              testing::Not(HasSubstr("tolerate")));
}

}  // namespace
}  // namespace cuckooguard::cli
