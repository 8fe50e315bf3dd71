// Filters that outlive their process: a guard that starts again goes on where the last one ended,
// whatever ended it.

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/admin_client.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class Checkpoint : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(40))");
    run("INSERT INTO user SELECT seq, NULL FROM seq_1_to_1000");
  }

  std::string yaml() const {
    return configuration(Guarded().yaml(), harness::storage(storage()) + std::string(kAdmin));
  }
  std::filesystem::path storage() const { return folder_ / "kept"; }
  std::filesystem::path file() const { return storage() / "shop.users.user.filter"; }

  void start() { GuardedMariaDb::start(yaml()); }
  void kill() {
    guard_->send_signal(SIGKILL);
    guard_->exit_code();
    guard_.reset();
  }
  // With rows that the file has.
  void start_and_keep() {
    start();
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
    ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
  }
  bool has_read_the_table() const {
    return guard_->log().find("event=loaded") != std::string::npos;
  }
};

TEST_F(Checkpoint, is_where_a_killed_guard_goes_on) {
  start_and_keep();
  run("INSERT INTO user VALUES (6000, 'after the file')");
  kill();
  run("INSERT INTO user VALUES (7000, 'while it was down'); DELETE FROM user WHERE id IN (3, "
      "6000)");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(has_read_the_table()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_FALSE(is_absent("user:1000"));
  EXPECT_TRUE(is_absent("user:6000"));
  EXPECT_TRUE(is_absent("user:3"));
}

TEST_F(Checkpoint, of_an_ended_guard_has_its_last_changes) {
  start_and_keep();
  run("INSERT INTO user VALUES (6000, 'new')");
  ASSERT_TRUE(eventually([this] { return !is_absent("user:6000"); }));
  guard_.reset();
  const std::string position = session_->value("SELECT @@gtid_binlog_pos");
  const Ended inspected = run_guard({"filter", "inspect", file().string()});
  EXPECT_NE(inspected.standard_output.find(position), std::string::npos)
      << inspected.standard_output;
  EXPECT_NE(inspected.standard_output.find("items: 1001\n"), std::string::npos)
      << inspected.standard_output;
}

TEST_F(Checkpoint, is_of_no_use_when_the_log_behind_it_is_gone) {
  start_and_keep();
  kill();
  run("INSERT INTO user VALUES (7000, 'in a log that nobody has')");
  // Not as long as the server has not noticed that who reads them is gone.
  ASSERT_TRUE(eventually([this] {
    run("FLUSH BINARY LOGS");
    run("PURGE BINARY LOGS TO '" + session_->value("SHOW MASTER STATUS") + "'");
    return session_->run("SHOW BINARY LOGS").size() == 1;
  }));
  run("INSERT INTO user VALUES (8000, 'in the log')");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(has_read_the_table()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_FALSE(is_absent("user:8000"));
}

TEST_F(Checkpoint, is_of_no_use_to_another_definition) {
  start_and_keep();
  kill();
  run("ALTER TABLE user ADD COLUMN note TEXT FIRST");
  run("INSERT INTO user (id) VALUES (7000)");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(has_read_the_table()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
}

// A definition that changes and changes back while nobody looks is in the log all the same.
TEST_F(Checkpoint, does_not_hide_what_was_defined_anew_behind_it) {
  start_and_keep();
  kill();
  run("TRUNCATE TABLE user");
  run("INSERT INTO user VALUES (7000, 'new')");
  start();
  ASSERT_TRUE(becomes_absent("user:1")) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
}

TEST_F(Checkpoint, that_is_damaged_is_told_of_and_read_anew) {
  start_and_keep();
  guard_.reset();
  std::string bytes = read_whole_file(file());
  bytes[bytes.size() / 2] ^= 1;
  write_whole_file(file(), bytes);
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(has_read_the_table());
  EXPECT_NE(guard_->log().find("event=source_trouble source=shop"), std::string::npos)
      << guard_->log();
  EXPECT_NE(AdminClient(*guard_)
                .get("/metrics")
                .body.find("\ncuckooguard_source_troubles_total{source=\"shop\"} 1\n"),
            std::string::npos);
  EXPECT_FALSE(is_absent("user:1"));
}

TEST_F(Checkpoint, folder_is_one_processs_alone) {
  start_and_keep();
  const TemporaryDirectory folder;
  write_whole_file(folder / "guard.yaml",
                   "listen: unix:" + (folder / "guard.sock").string() + "\n" + yaml());
  const Ended second = run_guard({"--config", (folder / "guard.yaml").string()});
  EXPECT_EQ(second.exit_code, 78) << second.standard_error;
  EXPECT_NE(second.standard_error.find("is in use by another process"), std::string::npos)
      << second.standard_error;
}

}  // namespace
}  // namespace cuckooguard::harness
