// What is changed and changed back between two looks at PostgreSQL's catalog: rows that were
// written in between are in no log, or are logged as the table was then. None is hidden, whether
// all of it is one transaction or several, and whether the guard follows meanwhile or comes back to
// its checkpoint. And a server that is not what it was, for a while.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/redis_command.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

// Statements; `present` are keys of rows that are there behind all of them but `later`.
struct ThereAndBack {
  const char* name;
  const char* before;
  const char* there;
  const char* rows;
  const char* back;
  const char* later;  // an ordinary row
  std::vector<std::string> present;
  const char* absent;
  Guarded guarded{};
};

void PrintTo(const ThereAndBack& one, std::ostream* out) {
  *out << one.name;
}

constexpr const char* kUsers =
    "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, number BIGINT NOT NULL UNIQUE);"
    "INSERT INTO \"user\" SELECT n, n + 100000 FROM generate_series(1, 100) n;";
// Rows 7 are two, of which the first does not count where `gone` must be NULL.
constexpr const char* kParts =
    "CREATE TABLE \"user\" (id BIGINT, part INT, code BIGINT NOT NULL, gone TEXT, PRIMARY KEY (id, "
    "part)) PARTITION BY LIST (part);"
    "CREATE TABLE one PARTITION OF \"user\" FOR VALUES IN (1);"
    "CREATE TABLE two PARTITION OF \"user\" FOR VALUES IN (2);"
    "CREATE UNIQUE INDEX one_code ON one (code);"
    "INSERT INTO \"user\" VALUES (5, 1, 50, NULL), (7, 1, 70, 'gone'), (7, 2, 71, NULL);";

const std::string kInSchema =
    std::string(kUsers) +
    "CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO guard; DROP PUBLICATION "
    "cuckooguard; CREATE PUBLICATION cuckooguard FOR TABLES IN SCHEMA public WITH "
    "(publish_via_partition_root = true)";
const std::string kFull = std::string(kParts) +
                          "ALTER TABLE \"user\" REPLICA IDENTITY FULL; ALTER TABLE one REPLICA "
                          "IDENTITY FULL; ALTER TABLE two REPLICA IDENTITY FULL";
const std::string kOther = std::string(kParts) +
                           "CREATE TABLE three (LIKE \"user\" INCLUDING INDEXES); INSERT INTO "
                           "three VALUES (7, 3, 72, NULL)";
// The column that is needed is not the table's first.
const std::string kListed =
    "CREATE TABLE \"user\" (number BIGINT, id BIGINT PRIMARY KEY); INSERT INTO \"user\" SELECT n + "
    "100000, n FROM generate_series(1, 100) n; DROP PUBLICATION cuckooguard; CREATE PUBLICATION "
    "cuckooguard FOR TABLE \"user\" (id) WITH (publish_via_partition_root = true)";
const std::string kListedParts = std::string(kParts) +
                                 "DROP PUBLICATION cuckooguard; CREATE PUBLICATION cuckooguard FOR "
                                 "TABLE \"user\" (id, part) WITH "
                                 "(publish_via_partition_root = true)";
const std::string kWhole =
    std::string(kUsers) + "CREATE TABLE whole (id BIGINT, number BIGINT) PARTITION BY RANGE (id)";

std::vector<ThereAndBack> of_tables() {
  Guarded moods;
  moods.keys = "mood:{name}";
  moods.table = "mood";
  moods.fresh_ids = "";
  return {
      {"a_table_in_another_schema",
       kInSchema.c_str(),
       "ALTER TABLE \"user\" SET SCHEMA elsewhere",
       "INSERT INTO elsewhere.\"user\" VALUES (6000, 1)",
       "ALTER TABLE elsewhere.\"user\" SET SCHEMA public",
       "INSERT INTO \"user\" VALUES (6001, 2)",
       {"user:6000", "user:1"},
       "user:5000"},
      {"a_label_of_another_name",
       "CREATE TYPE feeling AS ENUM ('good', 'bad'); CREATE TABLE mood (name feeling PRIMARY KEY); "
       "INSERT INTO mood VALUES ('bad')",
       "ALTER TYPE feeling RENAME VALUE 'good' TO 'fine'",
       "INSERT INTO mood VALUES ('fine')",
       "ALTER TYPE feeling RENAME VALUE 'fine' TO 'good'",
       "DELETE FROM mood WHERE name = 'bad'",
       {"mood:good", "mood:bad"},
       "mood:none",
       moods},
      {"two_columns_of_swapped_names",
       kUsers,
       "ALTER TABLE \"user\" RENAME id TO x; ALTER TABLE \"user\" RENAME number TO id; ALTER TABLE "
       "\"user\" RENAME x TO number",
       "INSERT INTO \"user\" VALUES (6000, 7000)",
       "ALTER TABLE \"user\" RENAME id TO x; ALTER TABLE \"user\" RENAME number TO id; ALTER TABLE "
       "\"user\" RENAME x TO number",
       "INSERT INTO \"user\" VALUES (6001, 2)",
       {"user:6000", "user:1"},
       "user:5000"},
      {"a_table_of_another_name",
       kUsers,
       "ALTER TABLE \"user\" RENAME TO other",
       "INSERT INTO other VALUES (6000, 1)",
       "ALTER TABLE other RENAME TO \"user\"",
       "INSERT INTO \"user\" VALUES (6001, 2)",
       {"user:6000", "user:1"},
       "user:5000"},
      {"a_schema_of_another_name",
       kUsers,
       "ALTER SCHEMA public RENAME TO other",
       "INSERT INTO other.\"user\" VALUES (6000, 1)",
       "ALTER SCHEMA other RENAME TO public",
       "INSERT INTO \"user\" VALUES (6001, 2)",
       {"user:6000", "user:1"},
       "user:5000"},
  };
}

std::vector<ThereAndBack> of_partitions() {
  Guarded exact;
  exact.filter = "{ false_positive_rate: 0.0001%, deletes: exact }";
  Guarded living = exact;
  living.table = "user, where: \"gone IS NULL\"";
  return {
      {"a_partition_logged_by_its_key",
       kFull.c_str(),
       "ALTER TABLE one REPLICA IDENTITY DEFAULT",
       "DELETE FROM \"user\" WHERE id = 7 AND part = 1",
       "ALTER TABLE one REPLICA IDENTITY FULL",
       "INSERT INTO \"user\" VALUES (9, 2, 90, NULL)",
       {"user:7", "user:5"},
       "user:5000",
       living},
      {"a_partition_logged_by_another_index",
       kParts,
       "ALTER TABLE one REPLICA IDENTITY USING INDEX one_code",
       "UPDATE \"user\" SET id = 6000 WHERE id = 5",
       "ALTER TABLE one REPLICA IDENTITY DEFAULT",
       "INSERT INTO \"user\" VALUES (9, 2, 90, NULL)",
       {"user:7", "user:6000"},
       "user:5000",
       exact},
      {"a_partition_that_is_attached",
       kOther.c_str(),
       "ALTER TABLE \"user\" ATTACH PARTITION three FOR VALUES IN (3)",
       "DELETE FROM \"user\" WHERE part IN (1, 3)",
       "ALTER TABLE \"user\" DETACH PARTITION three",
       "INSERT INTO \"user\" VALUES (9, 2, 90, NULL)",
       {"user:7"},
       "user:5000",
       exact},
      {"a_table_that_is_a_partition",
       kWhole.c_str(),
       "ALTER TABLE whole ATTACH PARTITION \"user\" FOR VALUES FROM (MINVALUE) TO (MAXVALUE)",
       "INSERT INTO whole VALUES (6000, 1)",
       "ALTER TABLE whole DETACH PARTITION \"user\"",
       "INSERT INTO \"user\" VALUES (6001, 2)",
       {"user:6000", "user:1"},
       "user:5000"},
  };
}

// What is listed by then is what is read and followed, and no row is told by another list.
std::vector<ThereAndBack> of_lists() {
  Guarded exact;
  exact.filter = "{ false_positive_rate: 0.0001%, deletes: exact }";
  return {
      {"a_list_with_another_column",
       kListed.c_str(),
       "ALTER PUBLICATION cuckooguard SET TABLE \"user\" (number, id)",
       "INSERT INTO \"user\" VALUES (7000, 6000)",
       "ALTER PUBLICATION cuckooguard SET TABLE \"user\" (id)",
       "INSERT INTO \"user\" VALUES (2, 6001)",
       {"user:6000", "user:1"},
       "user:5000",
       exact},
      {"a_list_of_another_column",
       kListed.c_str(),
       "ALTER PUBLICATION cuckooguard SET TABLE \"user\" (number)",
       "INSERT INTO \"user\" VALUES (7000, 6000)",
       "ALTER PUBLICATION cuckooguard SET TABLE \"user\" (id)",
       "INSERT INTO \"user\" VALUES (2, 6001)",
       {"user:6000", "user:1"},
       "user:7000",
       exact},
      {"a_list_that_goes_with_a_column",
       kListed.c_str(),
       "ALTER PUBLICATION cuckooguard SET TABLE \"user\" (number, id); ALTER TABLE \"user\" DROP "
       "number CASCADE",
       "INSERT INTO \"user\" VALUES (6000)",
       "ALTER TABLE \"user\" ADD number BIGINT; ALTER PUBLICATION cuckooguard ADD TABLE \"user\" "
       "(id)",
       "INSERT INTO \"user\" VALUES (6001, 2)",
       {"user:6000", "user:1"},
       "user:5000",
       exact},
      {"a_list_for_partitions",
       kListedParts.c_str(),
       "ALTER PUBLICATION cuckooguard SET TABLE \"user\" (id, part, code); ALTER TABLE one REPLICA "
       "IDENTITY USING INDEX one_code",
       "UPDATE \"user\" SET id = 6000 WHERE id = 5",
       "ALTER TABLE one REPLICA IDENTITY DEFAULT; ALTER PUBLICATION cuckooguard SET TABLE \"user\" "
       "(id, part)",
       "INSERT INTO \"user\" VALUES (9, 2, 90, NULL)",
       {"user:7", "user:6000"},
       "user:5000",
       exact},
  };
}

enum class How : std::uint8_t { in_one_transaction, in_several, while_the_guard_is_stopped };

class PostgresThereAndBack : public GuardedPostgres,
                             public testing::WithParamInterface<std::tuple<ThereAndBack, How>> {
 protected:
  void create_tables() override {
    run(of().before);
    run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guard");
  }
  static const ThereAndBack& of() { return std::get<0>(GetParam()); }
  static bool is(How wanted) { return std::get<How>(GetParam()) == wanted; }

  std::string yaml() const {
    Guarded guarded = of().guarded;
    guarded.consistency = "strict";  // no row is hidden for max_lag, either
    return configuration(guarded.yaml(), storage(folder_ / "kept") + "log: { level: debug }\n");
  }
  std::filesystem::path file() const {
    const std::string table = of().guarded.table.substr(0, of().guarded.table.find(','));
    return folder_ / "kept" / ("shop.users." + table + ".filter");
  }
  std::size_t loads() const { return count_in(guard_->log(), "event=loaded"); }
  void go_there_and_back() {
    if (!is(How::in_several)) {
      run(std::string("BEGIN; ") + of().there + "; " + of().rows + "; " + of().back + "; COMMIT");
      return;
    }
    run(of().there);
    run(of().rows);
    run(of().back);
  }
};

TEST_P(PostgresThereAndBack, hides_no_row) {
  start(yaml());
  ASSERT_TRUE(becomes_absent(of().absent)) << guard_->log();
  if (is(How::while_the_guard_is_stopped)) {
    ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
    guard_.reset();
    go_there_and_back();
    start(yaml());
  } else {
    go_there_and_back();
  }
  ASSERT_TRUE(catches_up()) << guard_->log();
  ASSERT_TRUE(becomes_absent(of().absent)) << guard_->log();
  for (const std::string& key : of().present) {
    EXPECT_FALSE(is_absent(key)) << key << '\n' << guard_->log();
  }
  // Nor is what was said in between held against the table for ever.
  const std::size_t loads_before = loads();
  run(of().later);
  ASSERT_TRUE(catches_up()) << guard_->log();
  EXPECT_TRUE(becomes_absent(of().absent)) << guard_->log();
  EXPECT_EQ(loads(), loads_before) << guard_->log();
}

constexpr std::array kHow{
    How::in_one_transaction, How::in_several, How::while_the_guard_is_stopped};

std::string name_of(const testing::TestParamInfo<PostgresThereAndBack::ParamType>& one) {
  static constexpr std::array kNames{"_in_one_transaction", "_in_several", "_while_it_is_stopped"};
  return std::string(std::get<0>(one.param).name) +
         kNames.at(static_cast<std::size_t>(std::get<1>(one.param)));
}

INSTANTIATE_TEST_SUITE_P(Tables,
                         PostgresThereAndBack,
                         testing::Combine(testing::ValuesIn(of_tables()), testing::ValuesIn(kHow)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Lists,
                         PostgresThereAndBack,
                         testing::Combine(testing::ValuesIn(of_lists()), testing::ValuesIn(kHow)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Partitions,
                         PostgresThereAndBack,
                         testing::Combine(testing::ValuesIn(of_partitions()),
                                          testing::ValuesIn(kHow)),
                         name_of);

// --- one table, and its server ---

class PostgresServerChanges : public GuardedPostgres {
 protected:
  void create_tables() override { run("CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, name TEXT)"); }
  void begin() {
    start(configuration(Guarded{.fresh_ids = ""}.yaml(),
                        storage(folder_ / "kept", "30s") + "log: { level: debug }\n"));
    ASSERT_TRUE(becomes_absent("user:999")) << guard_->log();
  }
  std::size_t loads() const { return count_in(guard_->log(), "event=loaded"); }
  void expect_row(const std::string& key) {
    EXPECT_TRUE(becomes_present(key)) << guard_->log();
    ASSERT_TRUE(becomes_absent("user:999")) << guard_->log();
    ASSERT_TRUE(catches_up());
    EXPECT_FALSE(is_absent(key)) << guard_->log();
  }
  void expect_row_of(PostgresServer& other, const std::string& key) {
    EXPECT_TRUE(becomes_present(key)) << guard_->log();
    ASSERT_TRUE(becomes_absent("user:999")) << guard_->log();
    EXPECT_FALSE(is_absent(key)) << guard_->log();
    other.session().run("DELETE FROM \"user\" WHERE id = 1");
    EXPECT_TRUE(becomes_absent("user:1")) << "it is the other one's log";
  }
};

// Deployments grant, index and vacuum all the time.
TEST_F(PostgresServerChanges, what_is_granted_indexed_and_vacuumed_is_not_read_again) {
  begin();
  for (const char* const sql : {"GRANT SELECT ON ALL TABLES IN SCHEMA public TO guard",
                                "REVOKE INSERT ON \"user\" FROM guard",
                                "CREATE INDEX ON \"user\" (name)",
                                "ANALYZE \"user\"",
                                "VACUUM \"user\"",
                                "COMMENT ON TABLE \"user\" IS 'of whom'",
                                "ALTER TABLE \"user\" ALTER name SET STATISTICS 100"}) {
    run(sql);
    ASSERT_TRUE(catches_up());
    EXPECT_FALSE(eventually([this] { return loads() > 1; }, kMaxLag)) << sql << guard_->log();
  }
  run("INSERT INTO \"user\" VALUES (777, 'x')");
  expect_row("user:777");
  EXPECT_EQ(loads(), 1U) << guard_->log();
}

TEST_F(PostgresServerChanges, a_server_that_has_become_read_only_proves_nothing_until_it_is_not) {
  begin();
  for (const auto& [on, off] :
       {std::pair{"ALTER SYSTEM SET default_transaction_read_only = on",
                  "ALTER SYSTEM RESET default_transaction_read_only"},
        std::pair{"ALTER DATABASE shop SET default_transaction_read_only = on",
                  "ALTER DATABASE shop RESET default_transaction_read_only"}}) {
    run(on);
    run("SELECT pg_reload_conf()");
    EXPECT_TRUE(becomes_present("user:999")) << on;
    EXPECT_TRUE(eventually([this] { return guard_->log().contains("the server is read-only"); }))
        << on << guard_->log();
    run("SET transaction_read_only = off; SET default_transaction_read_only = off");
    run(off);
    run("SELECT pg_reload_conf()");
    EXPECT_TRUE(becomes_absent("user:999")) << off << guard_->log();
  }
  EXPECT_EQ(loads(), 1U) << guard_->log();
}

// A name or a virtual IP that has moved on, while the server of before lives on and answers.
TEST_F(PostgresServerChanges, the_server_that_has_taken_the_address_is_followed) {
  PostgresServer other;
  other.session().run(
      "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY); INSERT INTO \"user\" VALUES (1)");
  create_guard_role(other);
  run("INSERT INTO \"user\" VALUES (1)");
  SlowLink link(server_->port());
  start(Configuration{.upstream = redis_->address(),
                      .source = postgres_source(port_address(link.port()), kMaxLag),
                      .namespaces = Guarded{.fresh_ids = ""}.yaml()}
            .yaml());
  ASSERT_TRUE(becomes_absent("user:999")) << guard_->log();
  link.lead_to({other.port()});
  other.session().run("INSERT INTO \"user\" VALUES (777)");
  expect_row_of(other, "user:777");
  EXPECT_THAT(guard_->log(), HasSubstr("the address now leads to another server"));
  guard_.reset();  // before the link
}

// With no other standby a commit would wait for ever: with one it is the guard that must not count.
TEST_F(PostgresServerChanges, commits_do_not_wait_for_the_guard) {
  begin();
  run("ALTER SYSTEM SET synchronous_standby_names = '*'");
  run("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([this] {
    return session_->value("SELECT count(*) FROM pg_stat_replication") == "0";
  })) << guard_->log();
  EXPECT_TRUE(becomes_present("user:999"));
  EXPECT_THAT(guard_->log(), HasSubstr("commits would wait for the guard"));
  run("ALTER SYSTEM RESET synchronous_standby_names");
  run("SELECT pg_reload_conf()");
  run("INSERT INTO \"user\" VALUES (777)");
  expect_row("user:777");
  EXPECT_EQ(loads(), 1U) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
