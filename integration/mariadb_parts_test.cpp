// A namespace whose rows are in several tables of a MariaDB that is followed: absent is what no
// table has, and tables come and go.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class MariaDbParts : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user_1 (id BIGINT UNSIGNED PRIMARY KEY)");
    run("CREATE TABLE user_2 LIKE user_1");
    run("INSERT INTO user_1 SELECT seq FROM seq_1_to_100");
    run("INSERT INTO user_2 SELECT seq FROM seq_101_to_200");
    start();
  }

  void start() {
    GuardedMariaDb::start(
        configuration(Guarded{.table = "\"user_*\""}.yaml(), storage(folder_ / "kept", "30s")));
    ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
  }

  void create_with_row(const std::string& table, const std::string& id) {
    run("CREATE TABLE " + table + " LIKE user_1");
    run("INSERT INTO " + table + " VALUES (" + id + ")");
  }

  // Neither at once nor later is it absent, but within max_lag of its commit.
  bool becomes_present_in_time(const std::string& key) {
    const auto committed = SteadyClock::now();
    auto sent = committed;  // the verdict comes after that, however late the reply is read
    while (is_absent(key)) {
      if (sent - committed > kMaxLag) {
        return false;
      }
      sent = SteadyClock::now();
    }
    return true;
  }
};

TEST_F(MariaDbParts, have_their_rows_together) {
  EXPECT_FALSE(is_absent("user:7"));
  EXPECT_FALSE(is_absent("user:150"));
  EXPECT_TRUE(is_absent("user:201"));
  run("INSERT INTO user_2 VALUES (201)");
  EXPECT_TRUE(becomes_present_in_time("user:201"));
  run("DELETE FROM user_1 WHERE id = 7");
  EXPECT_TRUE(becomes_absent("user:7"));
  EXPECT_FALSE(is_absent("user:8"));
}

TEST_F(MariaDbParts, join_when_they_are_created_and_leave_when_they_are_dropped) {
  for (int i = 3; i < 8; ++i) {
    const std::string id = std::to_string(1000 * i);
    create_with_row("user_" + std::to_string(i), id);
    EXPECT_TRUE(becomes_present_in_time("user:" + id)) << guard_->log();
    ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
    EXPECT_FALSE(is_absent("user:" + id));
  }
  run("CREATE TABLE user_8 AS SELECT 8000 AS id");
  run("ALTER TABLE user_8 ADD PRIMARY KEY (id)");
  EXPECT_TRUE(becomes_present_in_time("user:8000")) << guard_->log();
  run("DROP TABLE user_5");
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  run("RENAME TABLE user_4 TO archive_4, user_6 TO user_600");
  EXPECT_TRUE(becomes_absent("user:4000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:6000"));
}

TEST_F(MariaDbParts, lose_no_row_that_moves_from_one_to_the_other) {
  constexpr std::size_t kMoves = 2000;
  constexpr std::size_t kAsked = 1000;
  std::atomic<std::size_t> moves = 0;
  std::jthread mover([&](const std::stop_token& stop) {
    SqlSession session = server_->session();
    while (!stop.stop_requested()) {
      session.run(
          "BEGIN; DELETE FROM user_1 WHERE id = 50; INSERT INTO user_2 VALUES (50); COMMIT");
      session.run(
          "BEGIN; DELETE FROM user_2 WHERE id = 50; INSERT INTO user_1 VALUES (50); COMMIT");
      moves += 2;
    }
  });
  RawClient client = guard_->client();
  for (std::size_t asked = 0; asked < kAsked || moves < kMoves; ++asked) {
    ASSERT_NE(client.call({"GET", "user:50"}), kAnswer) << "after " << asked;
  }
}

// While its files change their names a server does not list it, and its log does not speak of it
// yet.
TEST_F(MariaDbParts, hide_no_row_while_one_of_them_is_put_in_its_own_place) {
  run("CREATE TABLE user_3 (id BIGINT UNSIGNED PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 100");
  run("INSERT INTO user_3 VALUES (3000)");
  ASSERT_TRUE(becomes_present_in_time("user:3000"));
  ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
  std::jthread others([&](const std::stop_token& stop) {
    SqlSession session = server_->session();
    while (!stop.stop_requested()) {
      session.run("CREATE OR REPLACE TABLE other (id INT)");  // tables are listed again
    }
  });
  std::atomic<bool> is_over = false;
  std::jthread alterer([&] {
    SqlSession session = server_->session();
    for (int i = 0; i < 5; ++i) {
      session.run("ALTER TABLE user_3 FORCE, ALGORITHM=COPY");
    }
    is_over = true;
  });
  RawClient client = guard_->client();
  while (!is_over) {
    ASSERT_NE(client.call({"GET", "user:3000"}), kAnswer) << guard_->log();
  }
  others.request_stop();
  EXPECT_TRUE(becomes_absent("user:9999")) << guard_->log();
  EXPECT_FALSE(is_absent("user:3000"));
}

TEST_F(MariaDbParts, leave_also_where_the_log_does_not_say_so) {
  create_with_row("user_3", "3000");
  ASSERT_TRUE(becomes_absent("user:9999"));
  run("SET sql_log_bin = 0; DROP TABLE user_3; SET sql_log_bin = 1");
  run("CREATE TABLE other (id INT)");  // tables are listed again
  EXPECT_TRUE(becomes_absent("user:3000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:7"));
}

TEST_F(MariaDbParts, make_all_pass_while_one_of_them_cannot_be_read) {
  run("CREATE TABLE user_3 (id BIGINT UNSIGNED)");  // no key
  run("INSERT INTO user_3 VALUES (3000)");
  EXPECT_TRUE(becomes_present_in_time("user:3000"));
  EXPECT_FALSE(
      eventually([this] { return is_absent("user:3000") || is_absent("user:9999"); }, kMaxLag * 2));
  EXPECT_NE(guard_->log().find("`user_3` has no primary key"), std::string::npos) << guard_->log();
  run("ALTER TABLE user_3 ADD PRIMARY KEY (id)");
  EXPECT_TRUE(becomes_absent("user:9999")) << guard_->log();
  EXPECT_FALSE(is_absent("user:3000"));
}

TEST_F(MariaDbParts, make_all_pass_while_they_cannot_be_listed_and_are_asked_for_ever_more_seldom) {
  run("REVOKE SELECT ON shop.* FROM guard@localhost");
  run("GRANT SELECT ON shop.user_1 TO guard@localhost");
  run("GRANT SELECT ON shop.user_2 TO guard@localhost");
  run("CREATE TABLE user_3 LIKE user_1");
  run("INSERT INTO user_3 VALUES (3000)");
  EXPECT_TRUE(becomes_present_in_time("user:3000"));
  EXPECT_TRUE(eventually([this] {
    return guard_->log().find("cannot list its tables: a table pattern requires SELECT") !=
           std::string::npos;
  })) << guard_->log();
  EXPECT_NE(guard_->call({"GUARD.INFO", "users"}).find("\r\nstate:refused\r\n"), std::string::npos);
  const auto connections = [this] {
    return std::stoi(session_->run("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1].value_or("0"));
  };
  const int before = connections();
  EXPECT_FALSE(eventually([this] { return is_absent("user:3000") || is_absent("user:9999"); },
                          milliseconds(3000)));
  EXPECT_LT(connections() - before, 10);
  run("GRANT SELECT ON shop.* TO guard@localhost");
  EXPECT_TRUE(becomes_absent("user:9999")) << guard_->log();
  EXPECT_FALSE(is_absent("user:3000"));
}

TEST_F(MariaDbParts, are_all_taken_up_from_their_checkpoints) {
  create_with_row("user_3", "3000");
  ASSERT_TRUE(becomes_present("user:3000"));
  ASSERT_TRUE(becomes_absent("user:9999"));
  guard_.reset();
  create_with_row("user_4", "4000");
  run("INSERT INTO user_3 VALUES (3001)");
  start();
  for (const char* const id : {"7", "150", "3000", "3001", "4000"}) {
    EXPECT_FALSE(is_absent(std::string("user:") + id)) << id;
  }
  EXPECT_EQ(guard_->log().find("event=loaded namespace=users/user_3"), std::string::npos)
      << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
