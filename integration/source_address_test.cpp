// An address behind which there are two databases, by a name or a balancer: what one of them says
// of its log or its rows is never taken for the other's.

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/guarded_mariadb.h"
#include "harness/mariadb_server.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

class SourceAddress : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = MariaDbServer::missing()) {
      GTEST_SKIP() << *missing;
    }
    ours_.emplace();
    others_.emplace();
    on_both(
        "CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY);"
        "INSERT INTO user SELECT seq FROM seq_1_to_1000");
    for (MariaDbServer* const server : {&*ours_, &*others_}) {
      SqlSession session = server->session();
      create_guard_user(session);
    }
    redis_.emplace();
    link_.emplace(ours_->port());
    guard_.emplace(GuardProcess::on_port(
        "upstream: " + redis_->address() + "\n" +
        shop_source("\"127.0.0.1:" + std::to_string(link_->port()) + "\"") +
        "namespaces:\n  users: { keys: \"user:{id:uint64}\", source: { from: shop, table: user }, "
        "mode: enforce, fresh_ids: 0, overlay: { pass_at_start: false }, absent_reply: "
        "\"bytes:__ABSENT__\", filter: { "
        "false_positive_rate: 0.0001% } }\n"
        "log: { level: debug }\n"));  // tells why a load has failed
    client_.emplace(guard_->client());
    ASSERT_TRUE(becomes_absent(9999)) << guard_->log();
  }

  // As many transactions on each: their GTIDs are the same.
  void on_both(const std::string& sql) {
    ours_->session().run(sql);
    others_->session().run(sql);
  }

  bool is_absent(int id) { return client_->call({"GET", "user:" + std::to_string(id)}) == kAnswer; }
  bool becomes_absent(int id) {
    return eventually([&] { return is_absent(id); });
  }
  bool becomes_present(int id) {
    return eventually([&] { return !is_absent(id); });
  }
  bool says_that_there_are_two() {
    return eventually([&] {
      return guard_->log().find("the address leads to several servers") != std::string::npos;
    });
  }

  std::optional<MariaDbServer> ours_;
  std::optional<MariaDbServer> others_;
  std::optional<RedisServer> redis_;
  std::optional<SlowLink> link_;
  std::optional<GuardProcess> guard_;
  std::optional<RawClient> client_;
};

TEST_F(SourceAddress, the_log_of_another_server_is_not_applied) {
  link_->lead_to({ours_->port(), others_->port(), ours_->port()});
  SqlSession session = ours_->session();
  for (const auto& row : session.run("SHOW PROCESSLIST")) {
    if (row[4].value_or("").starts_with("Binlog Dump")) {
      session.run("KILL " + row[0].value_or(""));
    }
  }
  EXPECT_TRUE(says_that_there_are_two()) << guard_->log();
  session.run("INSERT INTO user VALUES (7000)");
  others_->session().run("INSERT INTO user VALUES (8000)");
  EXPECT_TRUE(becomes_present(7000)) << guard_->log();
  EXPECT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_TRUE(becomes_absent(8000)) << guard_->log();
  EXPECT_FALSE(is_absent(7000));
}

TEST_F(SourceAddress, the_rows_of_another_server_are_not_loaded) {
  others_->session().run("TRUNCATE TABLE user; INSERT INTO user VALUES (8000)");
  link_->lead_to({others_->port()});
  SqlSession session = ours_->session();
  session.run("TRUNCATE TABLE user");
  EXPECT_TRUE(says_that_there_are_two()) << guard_->log();
  session.run("INSERT INTO user VALUES (7000)");
  EXPECT_FALSE(
      eventually([this] { return is_absent(7000) || is_absent(9999); }, milliseconds(1500)))
      << guard_->log();
  link_->lead_to({ours_->port()});
  EXPECT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_TRUE(becomes_absent(8000)) << guard_->log();
  EXPECT_FALSE(is_absent(7000));
}

}  // namespace
}  // namespace cuckooguard::harness
