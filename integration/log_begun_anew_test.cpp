// A log whose numbers come again: begun anew, cut short, made anew behind the same address. What it
// has had meanwhile would be taken for what was followed before.

#include <filesystem>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/deadline.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

constexpr std::uint64_t kFirstNew = 5000;

class LogBegunAnew : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_100");
    link_.emplace(server_->port());
    start();
  }

  void start() {
    GuardedMariaDb::start(configuration(
        Guarded().yaml(), storage(folder_ / "kept", "30s"), port_address(link_->port())));
    ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
  }
  // The guard has applied all that there is.
  void settle() {
    run("INSERT INTO user VALUES (200)");
    ASSERT_TRUE(becomes_present("user:200"));
    run("DELETE FROM user WHERE id = 200");
    ASSERT_TRUE(becomes_absent("user:200"));
  }
  std::uint64_t number() {
    const std::string gtid = session_->value("SELECT @@gtid_binlog_pos");
    return gtid.empty() ? 0 : std::stoull(gtid.substr(gtid.rfind('-') + 1));
  }
  // Until all passes: what is committed within max_lag of it may be absent that long.
  void cut() {
    link_->cut();
    ASSERT_TRUE(becomes_present("user:9999"));
  }
  // One transaction for each row, until the log is as far as it was.
  void pass(std::uint64_t passed) {
    std::string rows;
    for (std::uint64_t n = number(); n < passed + 2; ++n) {
      rows += "INSERT INTO user VALUES (" + std::to_string(kFirstNew + rows_++) + ");";
    }
    session_->run(rows);
  }
  void insert_one() {
    run("INSERT INTO user VALUES (" + std::to_string(kFirstNew + rows_++) + ")");
  }
  // All but the file that is begun now.
  void purge() {
    run("FLUSH BINARY LOGS");
    const std::string last = session_->run("SHOW MASTER STATUS")[0][0].value_or("");
    ASSERT_TRUE(eventually([&] {
      run("PURGE BINARY LOGS TO '" + last + "'");
      return session_->run("SHOW BINARY LOGS").size() == 1;
    }));
  }
  void expect_all_rows_and_no_others() {
    ASSERT_GT(rows_, 0U);
    EXPECT_TRUE(becomes_present("user:" + std::to_string(kFirstNew + rows_ - 1)));
    ASSERT_TRUE(becomes_absent("user:9999")) << guard_->log();
    for (std::uint64_t id = kFirstNew; id < kFirstNew + rows_; ++id) {
      EXPECT_FALSE(is_absent("user:" + std::to_string(id))) << id << guard_->log();
    }
    EXPECT_FALSE(is_absent("user:100"));
    EXPECT_TRUE(is_absent("user:200"));
  }
  // How often a snapshot has been read.
  int views() {  // since it was started
    return std::stoi(session_->run("SHOW GLOBAL STATUS LIKE 'Com_begin'")[0][1].value_or("0"));
  }

  // A power cut, with innodb_flush_log_at_trx_commit = 2, or a kill, with 0: the log has the
  // deletion of row 50, and the engine has lost it.
  void keep_row_50() {
    session_.reset();
    server_->stop();
    server_->keep_tables(folder_ / "before");
    start_server_again();
  }
  void delete_row_50() {
    run("DELETE FROM user WHERE id = 50");
    ASSERT_TRUE(becomes_absent("user:50"));
  }
  void crash() {
    session_.reset();
    server_->kill();
    server_->put_tables_back(folder_ / "before");
    start_server_again();
    ASSERT_EQ(session_->value("SELECT COUNT(*) FROM user WHERE id = 50"), "1");
  }
  void start_server_again() {
    server_->start_again();
    session_.emplace(server_->session());
  }
  void expect_that_row_50_is_never_hidden() {
    EXPECT_TRUE(becomes_absent("user:9999")) << guard_->log();
    EXPECT_FALSE(is_absent("user:50")) << guard_->log();
    insert_one();
    expect_all_rows_and_no_others();
    EXPECT_FALSE(is_absent("user:50"));
  }

  std::optional<SlowLink> link_;
  std::uint64_t rows_ = 0;  // new ones
};

TEST_F(LogBegunAnew, while_the_guard_is_down_hides_no_row) {
  settle();
  const std::uint64_t passed = number();
  guard_.reset();
  run("RESET MASTER");
  pass(passed);
  start();
  expect_all_rows_and_no_others();
}

TEST_F(LogBegunAnew, while_the_connection_is_cut_hides_no_row) {
  settle();
  const std::uint64_t passed = number();
  cut();
  run("RESET MASTER");
  pass(passed);
  link_->flow();
  expect_all_rows_and_no_others();
}

// The guard has seen no transaction of its own.
TEST_F(LogBegunAnew, that_was_quiet_before_hides_no_row) {
  const std::uint64_t passed = number();
  cut();
  run("RESET MASTER");
  pass(passed);
  link_->flow();
  expect_all_rows_and_no_others();
}

TEST_F(LogBegunAnew, while_it_is_followed_hides_no_row) {
  settle();
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t passed = number();
    run("RESET MASTER");
    pass(passed);
    expect_all_rows_and_no_others();
  }
}

// A power cut, with sync_binlog=0.
TEST_F(LogBegunAnew, that_has_lost_its_end_hides_no_row) {
  settle();
  const std::string file = session_->run("SHOW MASTER STATUS")[0][0].value_or("");
  const std::uint64_t whole = std::stoull(session_->run("SHOW MASTER STATUS")[0][1].value_or("0"));
  run("INSERT INTO user VALUES (300)");
  run("INSERT INTO user VALUES (301)");
  ASSERT_TRUE(becomes_present("user:301"));
  const std::uint64_t passed = number();
  cut();
  session_.reset();
  server_->kill();
  std::filesystem::resize_file(server_->unix_path().parent_path() / "data" / file, whole);
  server_->start_again();
  session_.emplace(server_->session());
  ASSERT_LT(number(), passed);
  pass(passed);
  link_->flow();
  expect_all_rows_and_no_others();
}

TEST_F(LogBegunAnew, is_not_believed_behind_a_crash_by_which_tables_have_lost_what_it_has) {
  settle();
  keep_row_50();
  delete_row_50();
  cut();
  crash();
  link_->flow();
  expect_that_row_50_is_never_hidden();
  EXPECT_THAT(guard_->log(), testing::HasSubstr("the server has crashed"));
}

TEST_F(LogBegunAnew, is_not_believed_behind_a_crash_while_the_guard_was_down) {
  settle();
  keep_row_50();
  delete_row_50();
  guard_.reset();
  crash();
  run("FLUSH BINARY LOGS");
  start();
  expect_that_row_50_is_never_hidden();
}

TEST_F(LogBegunAnew, is_not_what_a_server_that_was_shut_down_means) {
  settle();
  session_.reset();
  server_->stop();
  start_server_again();
  insert_one();
  expect_all_rows_and_no_others();
  EXPECT_EQ(views(), 0) << guard_->log();
}

// Nothing is believed yet that the crash could have made wrong.
TEST_F(LogBegunAnew, is_followed_by_a_guard_that_is_new_behind_a_crash) {
  settle();
  guard_.reset();
  std::filesystem::remove_all(folder_ / "kept");
  session_.reset();
  server_->kill();
  start_server_again();
  start();
  insert_one();
  expect_all_rows_and_no_others();
  EXPECT_EQ(views(), 1) << guard_->log();
}

TEST_F(LogBegunAnew, that_does_not_have_our_end_any_more_is_read_anew) {
  settle();
  cut();
  run("FLUSH BINARY LOGS");
  insert_one();
  purge();
  link_->flow();
  expect_all_rows_and_no_others();
  EXPECT_EQ(views(), 2) << guard_->log();
}

TEST_F(LogBegunAnew, is_not_what_a_lost_connection_means) {
  settle();
  cut();
  insert_one();
  run("FLUSH BINARY LOGS");
  link_->flow();
  expect_all_rows_and_no_others();
  EXPECT_EQ(views(), 1) << guard_->log();
}

TEST_F(LogBegunAnew, is_not_what_a_lost_connection_to_a_quiet_server_means) {
  cut();
  insert_one();
  link_->flow();
  ASSERT_TRUE(becomes_absent("user:9999"));
  EXPECT_TRUE(eventually([this] { return !is_absent("user:5000"); }));
  EXPECT_EQ(views(), 1) << guard_->log();
}

// With gtid_strict_mode off anybody may do so.
TEST_F(LogBegunAnew, whose_numbers_were_set_back_is_followed) {
  settle();
  run("SET SESSION gtid_seq_no = 3");
  insert_one();
  expect_all_rows_and_no_others();
  insert_one();
  expect_all_rows_and_no_others();
}

TEST_F(LogBegunAnew, whose_numbers_were_set_back_is_followed_by_a_guard_that_starts_then) {
  settle();
  guard_.reset();
  run("SET SESSION gtid_seq_no = 3");
  insert_one();
  start();
  expect_all_rows_and_no_others();
  insert_one();
  expect_all_rows_and_no_others();
}

// Where a log with that number began is not kept any more.
TEST_F(LogBegunAnew, whose_numbers_were_set_back_behind_its_beginning_is_followed) {
  settle();
  guard_.reset();
  purge();
  run("SET SESSION gtid_seq_no = 3");
  insert_one();
  start();
  expect_all_rows_and_no_others();
  insert_one();
  expect_all_rows_and_no_others();
  purge();
  link_->cut();
  insert_one();
  link_->flow();
  expect_all_rows_and_no_others();
}

}  // namespace
}  // namespace cuckooguard::harness
