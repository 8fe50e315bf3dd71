// What is changed in PostgreSQL and changed back, in one transaction, between two looks, or while
// the guard is away: the rows that came in between are never hidden. And a server that is not what
// it was, for a while.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/redis_command.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

// `change`, a row, `back`: in each of these the row is there behind it, as key "user:<id>".
struct ThereAndBack {
  const char* name;
  const char* tables;  // of which the last is "user"
  const char* change;
  const char* row;
  const char* back;
  const char* publication = "FOR ALL TABLES WITH (publish_via_partition_root = true)";
  const char* keys = "user:{id:uint64}";
};

const ThereAndBack kAll[] = {
    {.name = "table_in_another_schema",
     .tables = "CREATE SCHEMA other; CREATE TABLE \"user\" (id BIGINT PRIMARY KEY)",
     .change = "ALTER TABLE \"user\" SET SCHEMA other",
     .row = "INSERT INTO other.\"user\" VALUES (777)",
     .back = "ALTER TABLE other.\"user\" SET SCHEMA public",
     .publication = "FOR TABLES IN SCHEMA public"},
    {.name = "table_of_another_name",
     .tables = "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY)",
     .change = "ALTER TABLE \"user\" RENAME TO other",
     .row = "INSERT INTO other VALUES (777)",
     .back = "ALTER TABLE other RENAME TO \"user\""},
    {.name = "schema_of_another_name",
     .tables = "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY)",
     .change = "ALTER SCHEMA public RENAME TO other",
     .row = "INSERT INTO other.\"user\" VALUES (777)",
     .back = "ALTER SCHEMA other RENAME TO public"},
    {.name = "label_of_another_name",
     .tables = "CREATE TYPE kind AS ENUM ('a', '777'); "
               "CREATE TABLE \"user\" (id kind PRIMARY KEY)",
     .change = "ALTER TYPE kind RENAME VALUE '777' TO 'b'",
     .row = "INSERT INTO \"user\" VALUES ('b')",
     .back = "ALTER TYPE kind RENAME VALUE 'b' TO '777'",
     .keys = "user:{id}"},
    {.name = "columns_that_have_exchanged_their_names",
     .tables = "CREATE TABLE \"user\" (id BIGINT, n BIGINT, PRIMARY KEY (id, n))",
     .change = "ALTER TABLE \"user\" RENAME id TO x; ALTER TABLE \"user\" RENAME n TO id; ALTER "
               "TABLE \"user\" RENAME x TO n",
     .row = "INSERT INTO \"user\" (n, id) VALUES (777, 1)",
     .back = "ALTER TABLE \"user\" RENAME id TO x; ALTER TABLE \"user\" RENAME n TO id; ALTER "
             "TABLE \"user\" RENAME x TO n"},
    {.name = "partition_that_names_rows_by_another_index",
     .tables =
         "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, n BIGINT NOT NULL) PARTITION BY RANGE "
         "(id); CREATE TABLE part PARTITION OF \"user\" FOR VALUES FROM (0) TO (1000); CREATE "
         "UNIQUE INDEX part_n ON part (n); INSERT INTO \"user\" VALUES (5, 5)",
     .change = "ALTER TABLE part REPLICA IDENTITY USING INDEX part_n",
     .row = "UPDATE \"user\" SET id = 777 WHERE id = 5",
     .back = "ALTER TABLE part REPLICA IDENTITY DEFAULT"},
};

class PostgresThereAndBack : public GuardedPostgres {
 protected:
  void create_tables() override {}
  void begin(const ThereAndBack& which) {
    run(std::string("DROP PUBLICATION IF EXISTS cuckooguard; ") + which.tables +
        "; CREATE PUBLICATION cuckooguard " + which.publication +
        "; GRANT SELECT ON ALL TABLES IN SCHEMA public TO guard");
    start_guard(which);
  }
  void start_guard(const ThereAndBack& which) {
    start(configuration(Guarded{.keys = which.keys, .fresh_ids = ""}.yaml(),
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

class PostgresChanges : public PostgresThereAndBack,
                        public testing::WithParamInterface<ThereAndBack> {};

TEST_P(PostgresChanges, and_back_in_one_transaction_hide_no_row) {
  const ThereAndBack& which = GetParam();
  begin(which);
  run(std::string("BEGIN; ") + which.change + "; " + which.row + "; " + which.back + "; COMMIT");
  expect_row("user:777");
}

TEST_P(PostgresChanges, and_back_one_behind_the_other_hide_no_row) {
  const ThereAndBack& which = GetParam();
  begin(which);
  for (const char* const sql : {which.change, which.row, which.back}) {
    run(sql);
  }
  expect_row("user:777");
}

TEST_P(PostgresChanges, and_back_while_the_guard_is_away_hide_no_row) {
  const ThereAndBack& which = GetParam();
  begin(which);
  guard_->send_signal(SIGTERM);
  EXPECT_EQ(guard_->exit_code(), 0);
  guard_.reset();
  run(std::string("BEGIN; ") + which.change + "; " + which.row + "; " + which.back + "; COMMIT");
  start_guard(which);
  expect_row("user:777");
}

INSTANTIATE_TEST_SUITE_P(Of, PostgresChanges, testing::ValuesIn(kAll), [](const auto& each) {
  return std::string(each.param.name);
});

// Deployments grant, index and vacuum all the time.
TEST_F(PostgresThereAndBack, what_is_granted_indexed_and_vacuumed_is_not_read_again) {
  begin({.tables = "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, name TEXT)"});
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

// --- the server ---

TEST_F(PostgresThereAndBack, a_server_that_has_become_read_only_proves_nothing_until_it_is_not) {
  begin({.tables = "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY)"});
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
TEST_F(PostgresThereAndBack, the_server_that_has_taken_the_address_is_followed) {
  const char* const table =
      "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY); INSERT INTO \"user\" VALUES (1)";
  PostgresServer other;
  other.session().run(table);
  create_guard_role(other);
  run(table);
  SlowLink link(server_->port());
  start(Configuration{.upstream = redis_->address(),
                      .source = postgres_source(port_address(link.port()), kMaxLag),
                      .namespaces = Guarded{.fresh_ids = ""}.yaml()}
            .yaml());
  ASSERT_TRUE(becomes_absent("user:999")) << guard_->log();
  link.lead_to({other.port()});
  other.session().run("INSERT INTO \"user\" VALUES (777)");
  expect_row_of(other, "user:777");
  EXPECT_THAT(guard_->log(), HasSubstr("the address leads to another server now"));
  guard_.reset();  // before the link
}

// With no other standby a commit would wait for ever: with one it is the guard that must not count.
TEST_F(PostgresThereAndBack, commits_do_not_wait_for_the_guard) {
  begin({.tables = "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY)"});
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
