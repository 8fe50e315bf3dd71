// The guard's own commands between a real Redis and a real MariaDB: a client that has committed a
// row and waits for its position reads the row at once, on any connection.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kYes = ":1\r\n";
constexpr std::string_view kNo = ":0\r\n";
constexpr milliseconds kDefaultMaxLag{1000};

class OwnCommandsWithMariaDb : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_100");
    start(Configuration{.upstream = redis_->address(),
                        .source = mysql_source(unix_address(*server_), kDefaultMaxLag)}
              .yaml());
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  }

  std::string commit(const std::string& sql) {
    session_->run(sql);
    return session_->value("SELECT @@last_gtid");
  }
};

TEST_F(OwnCommandsWithMariaDb, who_waits_for_a_commit_finds_its_row_on_every_connection) {
  std::vector<RawClient> others;
  others.reserve(4);
  for (int i = 0; i < 4; ++i) {  // on both workers
    others.push_back(guard_->client());
  }
  RawClient client = guard_->client();
  milliseconds longest{0};
  const auto begun = SteadyClock::now();
  std::chrono::nanoseconds waited{0};
  constexpr int kRows = 300;
  for (int i = 0; i < kRows; ++i) {
    const std::string id = std::to_string(10'000 + i);
    const std::string position = commit("INSERT INTO user VALUES (" + id + ")");
    const auto committed = SteadyClock::now();
    ASSERT_EQ(client.call({"GUARD.WAIT", "shop", position, "60000"}), kYes);
    waited += SteadyClock::now() - committed;
    for (RawClient& other : others) {
      ASSERT_EQ(other.call({"GET", "user:" + id}), kNil) << "Redis's own";
    }
  }
  RecordProperty("mean_wait_us", static_cast<int>(waited.count() / kRows / 1000));
  RecordProperty("all_ms",
                 static_cast<int>(
                     std::chrono::duration_cast<milliseconds>(SteadyClock::now() - begun).count()));
}

// As soon as the server has shown that the deletion is committed, not only logged.
TEST_F(OwnCommandsWithMariaDb, who_waits_for_a_delete_is_answered_absent_soon) {
  RawClient client = guard_->client();
  for (int id = 1; id <= 10; ++id) {
    const std::string position = commit("DELETE FROM user WHERE id = " + std::to_string(id));
    ASSERT_EQ(client.call({"GUARD.WAIT", "shop", position, "60000"}), kYes);
    ASSERT_TRUE(eventually([&] {
      return client.call({"GUARD.CHECK", "user:" + std::to_string(id)}) == "*1\r\n:0\r\n";
    }));
  }
}

TEST_F(OwnCommandsWithMariaDb,
       a_position_that_does_not_come_is_waited_for_in_order_until_the_time_is_over) {
  RawClient client = guard_->client();
  const auto begun = SteadyClock::now();
  EXPECT_EQ(client.exchange(command({"GET", "user:5000"}) +
                                command({"GUARD.WAIT", "shop", "0-1-999999", "200"}) +
                                command({"GET", "user:5000"}) + command({"GET", "user:1"}),
                            4),
            std::string(kAnswer) + std::string(kNo) + std::string(kAnswer) + std::string(kNil));
  EXPECT_GE(SteadyClock::now() - begun, milliseconds(200));
}

TEST_F(OwnCommandsWithMariaDb, a_worker_serves_others_while_a_client_waits) {
  std::vector<RawClient> waiting;
  waiting.reserve(20);
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(guard_->client());
    waiting.back().send(command({"GUARD.WAIT", "shop", "0-1-999999", "3600000"}));
  }
  RawClient client = guard_->client();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.call({"GET", "user:5000"}), kAnswer);
  }
  for (RawClient& each : waiting) {
    EXPECT_FALSE(each.is_closed_by_peer());
    each.close();
  }
  EXPECT_TRUE(eventually([&] { return redis_->info("clients", "connected_clients") <= "9"; }))
      << "those who have gone are let go";
}

TEST_F(OwnCommandsWithMariaDb, what_is_no_position_is_refused) {
  EXPECT_EQ(guard_->call({"GUARD.WAIT", "shop", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1", "10"}),
            "-ERR '3e11fa47-71ca-11e1-9e33-c80aa9429562:1' is not a valid position for source "
            "'shop'\r\n");
  EXPECT_EQ(guard_->call({"GUARD.WAIT", "shop", "latest", "10"}),
            "-ERR 'latest' is not a valid position for source 'shop'\r\n");
  EXPECT_EQ(guard_->call({"GUARD.WAIT", "shop", "", "10"}), kYes) << "nothing has been committed";
}

TEST_F(OwnCommandsWithMariaDb, info_tells_how_far_the_source_is) {
  const std::string position = commit("INSERT INTO user VALUES (7000)");
  RawClient client = guard_->client();
  ASSERT_EQ(client.call({"GUARD.WAIT", "shop", position, "60000"}), kYes);
  const std::string text = client.call({"GUARD.INFO"});
  EXPECT_THAT(text, HasSubstr("# Namespace users\r\nmode:enforce\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nstate:ready\r\nfresh:1\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nitems:101\r\n"));
  EXPECT_THAT(
      text,
      HasSubstr("# Source shop\r\ntype:mysql\r\nstate:following\r\nwhy:\r\nhint:\r\nposition:" +
                position + "\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nlosses:0\r\n"));
}

TEST_F(OwnCommandsWithMariaDb, info_tells_of_a_source_that_is_down_and_wait_goes_on_after_it) {
  session_.reset();
  server_->kill();
  EXPECT_TRUE(eventually([&] {
    const std::string text = guard_->call({"GUARD.INFO", "users"});
    return text.contains("state:down\r\nwhy:") && text.contains("losses:1\r\n");
  }));
  EXPECT_EQ(guard_->call({"GUARD.WAIT", "shop", "0-1-999999", "1"}), kNo);
  server_->start_again();
  session_.emplace(server_->session());
  const std::string position = commit("INSERT INTO user VALUES (7000)");
  RawClient client = guard_->client();
  EXPECT_EQ(client.call({"GUARD.WAIT", "shop", position, "60000"}), kYes);
  EXPECT_EQ(client.call({"GET", "user:7000"}), kNil);
}

class OwnCommandsWithRedis : public testing::Test {
 protected:
  OwnCommandsWithRedis() { shop_.wait_until_it_answers(); }
  Shop shop_;
};

TEST_F(OwnCommandsWithRedis, a_key_that_is_added_passes) {
  RawClient client = shop_.client();
  const std::string get = command({"GET", absent_user()});
  ASSERT_EQ(client.exchange(get, 1), absent_reply());
  EXPECT_EQ(client.call({"GUARD.ADD", absent_user(), "of:nobody"}), kYes);
  EXPECT_EQ(client.exchange(get, 1), kNil);
  EXPECT_EQ(client.call({"GUARD.CHECK", absent_user()}), "*1\r\n:1\r\n");
}

TEST_F(OwnCommandsWithRedis, they_stand_in_a_pipeline_behind_what_changes_the_connection) {
  RawClient client = shop_.client();
  const std::string check = command({"GUARD.CHECK", absent_user(), "of:nobody"});
  EXPECT_EQ(client.exchange(command({"SELECT", "1"}) + check + command({"SELECT", "0"}) + check +
                                command({"PING"}),
                            5),
            "+OK\r\n*2\r\n:1\r\n:-1\r\n+OK\r\n*2\r\n:0\r\n:-1\r\n+PONG\r\n");
  client.send(command({"HELLO", "3"}) + command({"GUARD.EXPLAIN", absent_user()}));
  EXPECT_THAT(client.read_reply(), StartsWith("%"));
  EXPECT_THAT(client.read_reply(), StartsWith("%6\r\n$9\r\nnamespace\r\n$5\r\nusers\r\n"));
}

TEST_F(OwnCommandsWithRedis, inside_multi_they_abort_it_as_any_unknown_command) {
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"MULTI"}), kOk);
  EXPECT_THAT(client.call({"GUARD.CHECK", absent_user()}), StartsWith("-ERR unknown command"));
  EXPECT_THAT(client.call({"EXEC"}), StartsWith("-EXECABORT"));
  EXPECT_EQ(client.call({"GUARD.CHECK", absent_user(1)}), "*1\r\n:0\r\n");
}

TEST_F(OwnCommandsWithRedis, a_user_gets_what_redis_lets_it_get) {
  RawClient operators = shop_.client();
  ASSERT_EQ(operators.call({"ACL", "SETUSER", "bob", "reset", "on", ">word", "+@all", "~tag:*"}),
            kOk);
  RawClient bob = shop_.client();
  EXPECT_EQ(bob.call({"AUTH", "bob", "word"}), kOk);
  EXPECT_TRUE(eventually([&] {
    return bob.call({"GUARD.CHECK", absent_user()}) == bob.call({"GET", absent_user()});
  })) << "the very words of Redis";
  EXPECT_EQ(bob.call({"GUARD.CHECK", "tag:none"}), "*1\r\n:0\r\n");
  EXPECT_THAT(bob.call({"GUARD.EXPLAIN", absent_user()}), StartsWith("-NOPERM"));
  EXPECT_THAT(bob.call({"GUARD.ADD", "tag:none", absent_user()}), StartsWith("-NOPERM"));
  EXPECT_EQ(bob.call({"GET", "tag:none"}), absent_reply()) << "nothing was added";
}

TEST_F(OwnCommandsWithRedis, who_has_not_given_the_password_is_told_so) {
  RawClient client = shop_.client();
  ASSERT_EQ(client.call({"CONFIG", "SET", "requirepass", "word"}), kOk);
  RawClient stranger = shop_.client();
  EXPECT_TRUE(eventually([&] {
    return stranger.call({"GUARD.INFO"}) == stranger.call({"GET", absent_user()});
  })) << "the very words of Redis";
  EXPECT_EQ(client.call({"CONFIG", "SET", "requirepass", ""}), kOk);
}

}  // namespace
}  // namespace cuckooguard::harness
