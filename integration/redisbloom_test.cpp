// RedisBloom's commands of a filter that is a namespace's, between a Redis that does not know them
// and a MariaDB whose rows come and go.

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "fixtures/skip.h"
#include "harness/deadline.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kYes = ":1\r\n";
constexpr std::string_view kNo = ":0\r\n";

class RedisBloom : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
    Guarded users;
    users.more = ", commands: { key: users }";
    start(configuration(users.yaml()));
    ASSERT_TRUE(becomes_absent("user:5000000")) << guard_->log();
  }
  std::string exists(std::uint64_t id) {
    return guard_->call({"BF.EXISTS", "users", std::to_string(id)});
  }
};

TEST_F(RedisBloom, follows_the_rows_of_the_database) {
  EXPECT_EQ(exists(7), kYes);
  EXPECT_EQ(exists(5'000'000), kNo);
  for (std::uint64_t id = 6'000'000; id < 6'000'100; ++id) {
    session_->run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
    const std::string position = session_->value("SELECT @@last_gtid");
    ASSERT_EQ(guard_->call({"GUARD.WAIT", "shop", position, "60000"}), kYes);
    ASSERT_EQ(exists(id), kYes);
  }
  run("DELETE FROM user WHERE id = 7");
  EXPECT_TRUE(eventually([&] { return exists(7) == kNo; })) << guard_->log();
}

TEST_F(RedisBloom, python_redis_has_its_classes_answered) {
  const std::string python = "/usr/bin/python3";
  SKIP_IF_MISSING(missing_packages("python3-redis", {python, "-c", "import redis"}));
  const Ended ended = run_program({python,
                                   std::string(CUCKOOGUARD_CLIENTS) + "/python_redisbloom.py",
                                   std::to_string(guard_->port())});
  ASSERT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_EQ(ended.standard_output, "27\n");
}

// A Redis with the module would find no such filter, and say that nothing exists.
TEST_F(RedisBloom, what_cannot_be_answered_is_no_command_of_redis) {
  RawClient client = guard_->client();
  EXPECT_EQ(client.call({"MULTI"}), "+OK\r\n");
  EXPECT_THAT(client.call({"BF.EXISTS", "users", "7"}),
              StartsWith("-ERR 'bf.exists' of a filter of the guard is not allowed inside MULTI"));
  EXPECT_THAT(client.call({"EXEC"}), StartsWith("-EXECABORT"));
  std::vector<std::string_view> large(20'000, "12345");
  large[0] = "BF.MEXISTS";
  large[1] = "users";
  EXPECT_THAT(client.exchange(command(large), 1),
              StartsWith("-ERR unknown command 'GUARD.BF.MEXISTS'"));
  EXPECT_EQ(client.call({"BF.EXISTS", "users", "7"}), kYes) << "the connection goes on";
  EXPECT_THAT(client.call({"BF.EXISTS", "other", "7"}),
              StartsWith("-ERR unknown command 'BF.EXISTS'"));
}

TEST_F(RedisBloom, replies_come_in_the_order_of_commands) {
  std::string commands;
  std::string replies;
  for (int id = 1; id <= 500; ++id) {
    const std::string text = std::to_string(id);
    commands += command({"SET", "other:" + text, text}) + command({"BF.EXISTS", "users", text}) +
                command({"GET", "other:" + text}) +
                command({"CF.EXISTS", "users", "50" + std::to_string(100'000 + id)});
    replies += "+OK\r\n" + std::string(kYes) + bulk(text) + std::string(kNo);
  }
  RawClient client = guard_->client();
  EXPECT_EQ(client.exchange(commands, 2000), replies);
}

// As with GET, in the words of a Redis that would refuse it.
TEST_F(RedisBloom, nobody_is_answered_who_may_not_get_the_keys) {
  redis_->call({"ACL", "SETUSER", "ann", "on", ">word", "~other:*", "+@all"});
  RawClient client = guard_->client();
  EXPECT_EQ(client.call({"AUTH", "ann", "word"}), "+OK\r\n");
  EXPECT_TRUE(eventually(
      [&] { return client.call({"BF.EXISTS", "users", "5000000"}).starts_with("-NOPERM "); }));
  EXPECT_THAT(client.call({"BF.ADD", "users", "5000000"}), StartsWith("-NOPERM "));
  EXPECT_EQ(exists(5'000'000), kNo) << "and nothing is added";
}

}  // namespace
}  // namespace cuckooguard::harness
