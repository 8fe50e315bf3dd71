// What PostgreSQL 18 has beyond the release that Debian 12 has, with a guard that follows it:
// CUCKOOGUARD_POSTGRES_ROOT (harness/postgres_server.h).

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "fixtures/skip.h"

namespace cuckooguard::harness {
namespace {

class PostgresNewer : public GuardedPostgres {
 protected:
  void create_tables() override {
    SKIP_UNLESS(std::stoi(session_->value("SHOW server_version_num")) >= 180000,
                "needs PostgreSQL 18: CUCKOOGUARD_POSTGRES_ROOT");
  }

  static Guarded items(const std::string& keys) {
    return {.name = "items", .keys = keys, .table = "item", .fresh_ids = ""};
  }
  bool becomes_refused(const std::string& why) const {
    return eventually([&] { return guard_->call({"GUARD.INFO"}).contains(why); });
  }
};

TEST_F(PostgresNewer, a_generated_column_is_read_while_it_is_published) {
  run("CREATE TABLE item (id BIGINT PRIMARY KEY, code TEXT GENERATED ALWAYS AS ('c' || id) STORED "
      "NOT NULL); CREATE UNIQUE INDEX by_code ON item (code);"
      "INSERT INTO item SELECT n FROM generate_series(1, 100) n");
  start(configuration(items("item:{code}").yaml()));
  const std::string mended =
      "ALTER PUBLICATION \"cuckooguard\" SET (publish_generated_columns = "
      "stored)";
  ASSERT_TRUE(becomes_refused("or: " + mended)) << guard_->call({"GUARD.INFO"});
  EXPECT_FALSE(is_absent("item:c500"));
  run(mended + "; ALTER TABLE item REPLICA IDENTITY USING INDEX by_code");
  ASSERT_TRUE(becomes_absent("item:c500")) << guard_->call({"GUARD.INFO"});
  EXPECT_FALSE(is_absent("item:c100"));
  run("INSERT INTO item VALUES (101), (102); UPDATE item SET id = 500 WHERE id = 101; DELETE FROM "
      "item WHERE id = 1");
  ASSERT_TRUE(catches_up());
  EXPECT_FALSE(is_absent("item:c102"));
  EXPECT_FALSE(is_absent("item:c500"));
  EXPECT_TRUE(becomes_absent("item:c101"));
  EXPECT_TRUE(becomes_absent("item:c1"));
  run("ALTER TABLE item REPLICA IDENTITY DEFAULT; ALTER PUBLICATION cuckooguard SET "
      "(publish_generated_columns = none)");
  EXPECT_TRUE(becomes_refused("is generated and not in the log")) << guard_->log();
  EXPECT_FALSE(is_absent("item:c101"));
}

TEST_F(PostgresNewer, a_virtual_column_is_in_no_log) {
  run("CREATE TABLE item (id BIGINT PRIMARY KEY, twice BIGINT GENERATED ALWAYS AS (id * 2) "
      "VIRTUAL);"
      "ALTER PUBLICATION cuckooguard SET (publish_generated_columns = stored);"
      "INSERT INTO item SELECT n FROM generate_series(1, 100) n");
  start(configuration(
      items("item:{id:int64}").yaml() +
      Guarded{.name = "doubles", .keys = "double:{twice:int64}", .table = "item"}.yaml()));
  ASSERT_TRUE(becomes_absent("item:500")) << guard_->log();
  ASSERT_TRUE(becomes_refused("use the columns from which it is computed\r\n"));
  EXPECT_FALSE(is_absent("double:1000"));
  run("INSERT INTO item VALUES (500); DELETE FROM item WHERE id = 1");
  EXPECT_TRUE(becomes_present("item:500"));
  EXPECT_TRUE(becomes_absent("item:1"));
}

TEST_F(PostgresNewer, a_key_of_periods_is_there_as_long_as_one_of_its_rows) {
  run("CREATE EXTENSION btree_gist; CREATE TABLE item (id BIGINT, valid DATERANGE, PRIMARY KEY "
      "(id, "
      "valid WITHOUT OVERLAPS)); INSERT INTO item VALUES (1, '[2026-01-01,2026-02-01)'), (1, "
      "'[2026-02-01,2026-03-01)'), (2, '[2026-01-01,2026-02-01)')");
  Guarded several = items("item:{id:int64}");
  several.filter = "{ deletes: exact }";
  start(configuration(several.yaml()));
  ASSERT_TRUE(becomes_absent("item:3")) << guard_->call({"GUARD.INFO"});
  run("DELETE FROM item WHERE id = 1 AND valid @> DATE '2026-01-15'; UPDATE item SET id = 3 WHERE "
      "id "
      "= 2");
  EXPECT_TRUE(becomes_absent("item:2"));
  EXPECT_FALSE(is_absent("item:1"));
  EXPECT_FALSE(is_absent("item:3"));
  run("DELETE FROM item WHERE id = 1");
  EXPECT_TRUE(becomes_absent("item:1"));
}

TEST_F(PostgresNewer, a_slot_that_was_idle_for_too_long_has_all_read_anew) {
  run("CREATE TABLE item (id BIGINT PRIMARY KEY); INSERT INTO item VALUES (1), (2)");
  const std::string yaml =
      configuration(items("item:{id:int64}").yaml(), storage(folder_ / "kept"));
  start(yaml);
  ASSERT_TRUE(becomes_absent("item:3")) << guard_->log();
  guard_->send_signal(SIGKILL);
  guard_->exit_code();
  guard_.reset();
  run("ALTER SYSTEM SET idle_replication_slot_timeout = '1s'");
  run("SELECT pg_reload_conf(); INSERT INTO item VALUES (4)");
  ASSERT_TRUE(eventually([this] {
    run("CHECKPOINT");
    return session_->value("SELECT invalidation_reason FROM pg_replication_slots") ==
           "idle_timeout";
  }));
  run("INSERT INTO item VALUES (5)");
  start(yaml);
  ASSERT_TRUE(becomes_absent("item:3")) << guard_->call({"GUARD.INFO"});
  EXPECT_TRUE(guard_->log().contains("event=loaded")) << guard_->log();
  EXPECT_FALSE(is_absent("item:4"));
  EXPECT_FALSE(is_absent("item:5"));
  EXPECT_EQ(session_->value("SELECT wal_status FROM pg_replication_slots"), "reserved");
}

// Two standbys take the primary's place, one after the other: they have the same timeline, and both
// a copy of the guard's slot, but other rows.
TEST_F(PostgresNewer, a_copy_of_a_slot_on_another_server_is_not_gone_on_with) {
  run("CREATE TABLE item (id BIGINT PRIMARY KEY); INSERT INTO item VALUES (1), (2);"
      "SELECT pg_create_physical_replication_slot(name) FROM (VALUES ('one'), ('two')) v (name)");
  server_->stop();
  const auto standby = [this](const std::string& slot) {
    return PostgresServer(
        *server_,
        {.settings = {"primary_conninfo=host=127.0.0.1 port=" + std::to_string(server_->port()) +
                          " user=guard password=word dbname=shop",
                      "primary_slot_name=" + slot,
                      "hot_standby_feedback=on",
                      "sync_replication_slots=on"}});
  };
  PostgresServer one = standby("one");
  PostgresServer two = standby("two");
  server_->start_again();
  session_.emplace(server_->session());
  for (PostgresServer* const each : {&one, &two}) {  // who found no primary looks again much later
    each->stop();
    each->start_again();
  }
  const std::string yaml =
      Configuration{
          .upstream = redis_->address(),
          .source = postgres_source(port_address(server_->port()) + ", " +
                                        port_address(one.port()) + ", " + port_address(two.port()),
                                    kMaxLag,
                                    ", slot: mine"),
          .namespaces = items("item:{id:int64}").yaml(),
          .more = storage(folder_ / "kept")}
          .yaml();
  start(yaml);
  ASSERT_TRUE(becomes_absent("item:5")) << guard_->log();
  guard_.reset();
  PostgresSession replication(server_->login() + " replication=database");
  ASSERT_TRUE(eventually(
      [&] { return replication.try_run("ALTER_REPLICATION_SLOT mine (FAILOVER true)").empty(); }));
  start(yaml);
  ASSERT_TRUE(becomes_absent("item:5")) << guard_->log();
  for (const PostgresServer* const each : {&one, &two}) {
    PostgresSession session = each->session();
    ASSERT_TRUE(eventually([&] {
      run("INSERT INTO item VALUES (4); DELETE FROM item WHERE id = 4; SELECT "
          "pg_log_standby_snapshot()");
      return session.value(
                 "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'mine' AND "
                 "synced AND NOT temporary") == "1";
    }));
  }
  ASSERT_TRUE(catches_up());
  session_.reset();
  server_->kill();
  one.session().run("SELECT pg_promote()");
  one.session().run("DELETE FROM item WHERE id = 1");
  ASSERT_TRUE(becomes_absent("item:1")) << guard_->log();
  EXPECT_FALSE(is_absent("item:2"));
  two.session().run("SELECT pg_promote()");
  two.session().run("SELECT pg_logical_emit_message(true, 'of', repeat('longer', 100000))");
  one.kill();
  ASSERT_EQ(two.session().value("SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"),
            "00000002");
  EXPECT_TRUE(becomes_present("item:1"));
  ASSERT_TRUE(becomes_absent("item:5")) << guard_->log();
  EXPECT_FALSE(is_absent("item:1")) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
