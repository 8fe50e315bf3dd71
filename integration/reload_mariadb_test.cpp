// The configuration is loaded anew while a MariaDB is followed: who follows it goes on, and what
// comes beside it.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

const std::string kOfUsers = Guarded().yaml();
const std::string kOfItems =
    Guarded{.name = "items", .keys = "item:{id:uint64}", .table = "item"}.yaml();

class ReloadWithMariaDb : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("CREATE TABLE item (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
    run("INSERT INTO item SELECT seq FROM seq_1_to_1000");
    start(yaml("", kOfUsers));
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  }

  std::string yaml(const std::string& of_source, const std::string& namespaces) const {
    return Configuration{
        .upstream = redis_->address(),
        .source = mysql_source(unix_address(*server_), kMaxLag, of_source),
        .namespaces = namespaces,
        .more = "admin: { operators: default }\n" + storage(folder_ / "kept", "30s")}
        .yaml();
  }
  void reload(const std::string& of_source, const std::string& namespaces) {
    guard_->set_configuration(yaml(of_source, namespaces));
    EXPECT_EQ(guard_->call({"GUARD.RELOAD"}), kOk) << guard_->log();
  }
  std::size_t loads_of_users() const {
    return count_in(guard_->log(), "event=loaded namespace=users");
  }
  // Its row is seen once its commit has been waited for.
  void expect_followed(const std::string& table, const std::string& id) {
    run("INSERT INTO " + table + " VALUES (" + id + ")");
    const std::string position = session_->value("SELECT @@last_gtid");
    EXPECT_EQ(guard_->call({"GUARD.WAIT", "shop", position, "60000"}), ":1\r\n") << guard_->log();
    EXPECT_FALSE(is_absent(table + ":" + id));
  }
};

TEST_F(ReloadWithMariaDb, a_namespace_that_comes_is_followed_beside_those_that_go_on) {
  reload("", kOfItems + kOfUsers);
  EXPECT_TRUE(is_absent("user:5000")) << "it goes on";
  EXPECT_TRUE(becomes_absent("item:5000")) << guard_->log();
  EXPECT_EQ(loads_of_users(), 1U);
  expect_followed("user", "6001");
  expect_followed("item", "6001");
  reload("", kOfUsers);
  EXPECT_TRUE(is_absent("user:5000"));
  EXPECT_FALSE(is_absent("item:5000"));
  expect_followed("user", "6002");
  EXPECT_EQ(loads_of_users(), 1U);
}

TEST_F(ReloadWithMariaDb, a_replica_of_one_number_is_there_once) {
  reload(", server_id: 4711", kOfUsers);
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  reload(", server_id: 4711", kOfItems + kOfUsers);
  EXPECT_TRUE(becomes_absent("item:5000")) << guard_->log();
  EXPECT_TRUE(becomes_absent("user:5000"));
  expect_followed("item", "6001");
  expect_followed("user", "6001");
  EXPECT_EQ(guard_->log().find("same server"), std::string::npos) << guard_->log();
}

TEST_F(ReloadWithMariaDb, other_credentials_take_up_the_checkpoint_that_has_just_been_written) {
  session_->run("CREATE USER second@localhost IDENTIFIED BY 'word2'");
  session_->run(
      "GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO second@localhost");
  std::string other = yaml("", kOfUsers);
  other.replace(other.find("user: guard, password: word"),
                std::string_view("user: guard, password: word").size(),
                "user: second, password: word2");
  guard_->set_configuration(other);
  EXPECT_EQ(guard_->call({"GUARD.RELOAD"}), kOk) << guard_->log();
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_EQ(loads_of_users(), 1U) << guard_->log();
  expect_followed("user", "6001");
}

}  // namespace
}  // namespace cuckooguard::harness
