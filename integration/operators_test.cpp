// What operators may do to a running guard by its own commands, and that others may not.

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::StartsWith;

class Operators : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
    redis_->call({"ACL", "SETUSER", "ops", "on", ">word", "allcommands", "allkeys"});
    start(configuration(
        Guarded{.filter = "{ false_positive_rate: 0.0001%, deletes: deferred }"}.yaml(),
        "admin: { operators: ops }\n"));
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
    ops_.emplace(guard_->client());
    ASSERT_EQ(ops_->call({"AUTH", "ops", "word"}), "+OK\r\n");
  }

  std::optional<RawClient> ops_;
};

TEST_F(Operators, change_the_mode_of_a_namespace_for_all_clients_at_once) {
  EXPECT_EQ(ops_->call({"GUARD.MODE", "users", "observe"}), "+OK\r\n");
  EXPECT_EQ(guard_->call({"GET", "user:5000"}), "$-1\r\n");
  EXPECT_EQ(ops_->call({"GUARD.MODE", "users", "enforce"}), "+OK\r\n");
  EXPECT_TRUE(is_absent("user:5000"));
  EXPECT_NE(guard_->log().find("event=operator user=ops namespace=users what=\"mode observe\""),
            std::string::npos)
      << guard_->log();
}

TEST_F(Operators, have_a_namespace_built_again) {
  run("DELETE FROM user WHERE id = 7");
  const std::string deleted = session_->value("SELECT @@last_gtid");
  ASSERT_EQ(guard_->call({"GUARD.WAIT", "shop", deleted, "60000"}), ":1\r\n");
  EXPECT_FALSE(is_absent("user:7")) << "deferred: it stays in the filter";
  EXPECT_EQ(ops_->call({"GUARD.REBUILD", "users"}), "+OK\r\n");
  EXPECT_TRUE(becomes_absent("user:7")) << guard_->log();
  EXPECT_FALSE(is_absent("user:8"));
}

TEST_F(Operators, are_not_everybody) {
  EXPECT_THAT(guard_->call({"GUARD.MODE", "users", "bypass"}), StartsWith("-NOPERM "));
  EXPECT_THAT(guard_->call({"GUARD.REBUILD", "users"}), StartsWith("-NOPERM "));
  EXPECT_TRUE(is_absent("user:5000"));
}

}  // namespace
}  // namespace cuckooguard::harness
