// What MySQL does that MariaDB does not, over a guard that follows it.
//
// Needs a MySQL (harness/mysql_server.h).
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/deadline.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class MySqlSource : public GuardedMySql {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, j JSON)");
    run("INSERT INTO user VALUES (1, '{}'), (2, '{\"a\": \"aaaaaaaaaaaaaaaaaaaa\", \"b\": 1}'), "
        "(50, '{}')");
    start(configuration(Guarded().yaml(),
                        storage(folder_ / "kept", "30s") + "log: { level: debug }\n"));
    ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
  }
  std::size_t loads() const { return count_in(guard_->log(), "event=loaded"); }
  void expect_exactly(std::uint64_t there, std::uint64_t gone) {
    EXPECT_TRUE(becomes_present("user:" + std::to_string(there))) << guard_->log();
    ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
    EXPECT_FALSE(is_absent("user:" + std::to_string(there)));
    EXPECT_TRUE(becomes_absent("user:" + std::to_string(gone))) << guard_->log();
  }
  void start_again() {
    server_->start_again();
    session_.emplace(server_->session());
  }
};

// As an operator does who has restored a dump elsewhere. No log will ever have them.
TEST_F(MySqlSource, is_read_anew_when_transactions_are_said_to_have_been_executed) {
  run("SET GLOBAL gtid_purged = '+3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'");
  EXPECT_TRUE(eventually([this] { return loads() == 2; })) << guard_->log();
  run("INSERT INTO user VALUES (7, NULL)");
  expect_exactly(7, 8);
  EXPECT_EQ(loads(), 2U) << guard_->log();
}

TEST_F(MySqlSource, is_followed_where_json_values_are_logged_in_part) {
  run("SET GLOBAL binlog_row_value_options = PARTIAL_JSON");
  session_.emplace(server_->session());
  run("UPDATE user SET j = JSON_SET(j, '$.a', 'b'), id = 3 WHERE id = 2");
  expect_exactly(3, 2);
  run("UPDATE user SET j = JSON_SET(j, '$.a', 'bb')");
  run("DELETE FROM user WHERE id = 3");
  expect_exactly(1, 3);
  EXPECT_EQ(loads(), 1U) << guard_->log();
}

// A power cut, with innodb_flush_log_at_trx_commit = 2: of its tables the server has what they were
// some time before.
TEST_F(MySqlSource, is_not_believed_behind_a_crash_by_which_tables_have_lost_what_its_log_has) {
  session_.reset();
  server_->stop();
  server_->keep_tables(folder_ / "before");
  start_again();
  run("DELETE FROM user WHERE id = 50");
  ASSERT_TRUE(becomes_absent("user:50"));
  session_.reset();
  server_->kill();
  ASSERT_TRUE(becomes_present("user:9999"));
  server_->put_tables_back(folder_ / "before");
  start_again();
  ASSERT_EQ(session_->value("SELECT COUNT(*) FROM user WHERE id = 50"), "1");
  run("INSERT INTO user VALUES (7, NULL)");
  expect_exactly(7, 8);
  EXPECT_FALSE(is_absent("user:50")) << guard_->log();
}

TEST_F(MySqlSource, goes_on_behind_a_restart) {
  session_.reset();
  server_->stop();
  start_again();
  run("INSERT INTO user VALUES (7, NULL)");
  expect_exactly(7, 8);
  EXPECT_EQ(loads(), 1U) << guard_->log();
}

TEST_F(MySqlSource, proves_nothing_while_it_is_read_only) {
  run("SET GLOBAL super_read_only = 1");
  EXPECT_TRUE(becomes_present("user:9999"));
  EXPECT_THAT(guard_->log(), testing::HasSubstr("the server is read-only but not a replica"));
  run("SET GLOBAL read_only = 0");
  EXPECT_TRUE(becomes_absent("user:9999")) << guard_->log();
  EXPECT_EQ(loads(), 1U) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
