// Reading a table holds a lock on it: for no longer than that table is read, and not while somebody
// waits for it.
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"
#include "mysql/log_follower.h"
#include "mysql/server_probe.h"

namespace cuckooguard::harness {
namespace {

using source::mysql::LockProbe;
using std::chrono::steady_clock;

class MariaDbLocks : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE first (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO first SELECT seq FROM seq_1_to_100");
    run("CREATE TABLE second LIKE first");
  }
  void start() {
    std::string namespaces;
    for (const std::string table : {"first", "second"}) {
      namespaces += Guarded{.name = table, .keys = table + ":{id:uint64}", .table = table}.yaml();
    }
    GuardedMariaDb::start(configuration(namespaces, "log: { level: debug }\n"));
  }
  bool shows(const std::string& what) {
    return session_->value("SELECT COUNT(*) FROM information_schema.processlist WHERE " + what) !=
           "0";
  }
  bool is_logged(const std::string& words) const {
    return guard_->log().find(words) != std::string::npos;
  }
};

TEST_F(MariaDbLocks, of_a_table_that_was_read_are_not_held_while_others_are_read) {
  SqlSession other = server_->session();
  other.run("LOCK TABLES second WRITE");
  start();
  ASSERT_TRUE(becomes_absent("first:101")) << guard_->log();
  ASSERT_TRUE(
      eventually([this] { return shows("user = 'guard' AND info LIKE 'SELECT%second%'"); }));
  run("SET lock_wait_timeout = 2");
  EXPECT_EQ(session_->try_run("ALTER TABLE first ADD COLUMN note TEXT"), 0U);
  EXPECT_FALSE(is_absent("second:1"));
  other.run("UNLOCK TABLES");
  EXPECT_TRUE(becomes_absent("second:1")) << guard_->log();
  EXPECT_TRUE(becomes_absent("first:101")) << guard_->log();
}

// A guard that is suspended while it reads holds its lock as long as one that has a billion rows
// before it.
TEST_F(MariaDbLocks, of_a_table_that_is_read_are_let_go_when_somebody_waits) {
  run("SET sql_log_bin = 0; INSERT INTO second SELECT seq FROM seq_1_to_3000000; SET sql_log_bin = "
      "1");
  start();
  ASSERT_TRUE(eventually([this] {
    const bool is_reading = shows("user = 'guard' AND info LIKE 'SELECT `id` FROM%second%'");
    if (is_reading) {
      guard_->send_signal(SIGSTOP);
    }
    return is_reading;
  })) << guard_->log();
  std::jthread alter([this] { server_->session().run("ALTER TABLE second ADD COLUMN note TEXT"); });
  EXPECT_TRUE(eventually([this] { return shows("state = 'Waiting for table metadata lock'"); }));
  const auto suspended = steady_clock::now();
  EXPECT_TRUE(eventually([&] { return steady_clock::now() - suspended > LockProbe::kEvery; }));
  guard_->send_signal(SIGCONT);
  alter.join();
  EXPECT_TRUE(eventually([this] {
    return is_logged("a session is waiting for a lock on table `second`");
  })) << guard_->log();
  EXPECT_TRUE(becomes_absent("second:3000001")) << guard_->log();
  EXPECT_FALSE(is_absent("second:3000000"));
}

// What the one above relies on.
TEST_F(MariaDbLocks, that_somebody_waits_for_are_seen_without_more_rights_than_a_guard_has) {
  const source::mysql::Login login{
      .unix_path = server_->unix_path(), .user = "guard", .password = "word", .database = "shop"};
  auto connection = source::mysql::Connection::open(login).value();
  LockProbe probe(login, source::mysql::server_identity(connection).value(), [] {
    return steady_clock::now();
  });
  EXPECT_FALSE(probe.is_due()) << "not of small tables";
  source::mysql::TablePlan table;
  table.schema = "shop";
  table.name = "first";
  ASSERT_TRUE(connection.run("START TRANSACTION"));
  ASSERT_TRUE(connection.ask("SELECT COUNT(*) FROM first"));
  EXPECT_FALSE(probe.is_somebody_waiting(table));
  std::jthread alter([this] { server_->session().run("ALTER TABLE first ADD COLUMN note TEXT"); });
  EXPECT_TRUE(eventually([&] { return probe.is_somebody_waiting(table); }));
  ASSERT_TRUE(connection.run("ROLLBACK"));
  alter.join();
  EXPECT_FALSE(probe.is_somebody_waiting(table));
  EXPECT_TRUE(eventually([&] { return probe.is_due(); }));
}

}  // namespace
}  // namespace cuckooguard::harness
