// From servers with passwords to a guard that observes, and to a first attack that is stopped, by
// nothing but `cuckooguard init` and what it says: each typical mistake is made once, and its words
// are followed as they stand.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/database.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/ports.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPassword = "open-sesame";

class FirstHour : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = MariaDbServer::missing()) {
      GTEST_SKIP() << *missing;
    }
    server_.emplace();
    session_.emplace(server_->session());
    session_->run("CREATE TABLE user (id BIGINT UNSIGNED NOT NULL PRIMARY KEY)");
    session_->run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
    redis_.emplace(std::vector<std::string>{"--requirepass", "master"}, "master");
    flags_ = {{"--redis", redis_->address()},
              {"--listen", "127.0.0.1:" + std::to_string(port_)},
              {"--type", "mysql"},
              {"--database-address", "unix:" + server_->unix_path().string()},
              {"--database", "shop"},
              {"--output", file()}};
  }

  std::string file() const { return folder_ / "guard.yaml"; }
  // A file with this password, as the flag's value.
  void set_password(const std::string& flag, const std::string& password) {
    flags_[flag] = folder_ / flag.substr(2);
    write_whole_file(flags_[flag], password + "\n");
  }

  Ended init() const {
    std::vector<std::string> command{guard_binary(), "init"};
    for (const auto& [flag, value] : flags_) {
      command.insert(command.end(), {flag, value});
    }
    return run_program(command, "/dev/null");
  }
  // It ends with 1, nothing is written, and this is why.
  std::string refusal() const {
    const Ended ended = init();
    EXPECT_EQ(ended.exit_code, 1) << ended.standard_output;
    EXPECT_FALSE(std::filesystem::exists(file()));
    EXPECT_THAT(ended.standard_error, Not(HasSubstr(kPassword)));
    return ended.standard_error;
  }

  // Does what stands in these words behind `begin`, up to the end of the line, as an administrator
  // would: PASSWORD is the password.
  template <typename Run>
  static int follow(const std::string& words, std::string_view begin, const Run& run) {
    int count = 0;
    std::istringstream lines(words);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find(begin);
      if (at == std::string::npos || line.ends_with("-- MySQL")) {
        continue;
      }
      line.erase(0, at);
      line.erase(std::min(line.find(", also in its configuration file"), line.size()));
      if (const std::size_t word = line.find("PASSWORD"); word != std::string::npos) {
        line.replace(word, std::string_view("PASSWORD").size(), kPassword);
      }
      run(line);
      ++count;
    }
    return count;
  }
  int follow_sql(const std::string& words, std::string_view begin) {
    return follow(words, begin, [this](const std::string& line) { session_->run(line); });
  }
  int follow_redis(const std::string& words) const {
    return follow(words, "ACL SETUSER ", [this](const std::string& line) {
      RawClient client = redis_->client();
      client.send(line + "\r\n");
      EXPECT_EQ(client.read_reply(), "+OK\r\n") << line;
    });
  }

  void settle_redis() {
    const std::string words = refusal();
    EXPECT_THAT(words, HasSubstr("NOAUTH Authentication required."));
    EXPECT_THAT(words, HasSubstr("then --redis-user guard with its --redis-password-file"));
    flags_["--redis-user"] = "guard";
    set_password("--redis-password-file", "wrong");
    EXPECT_EQ(follow_redis(words), 1);
    EXPECT_THAT(refusal(), HasSubstr("cuckooguard: WRONGPASS "));
    set_password("--redis-password-file", kPassword);
    redis_->call({"ACL", "SETUSER", "guard", "-info", "-acl|getuser"});
    const std::string rights = refusal();
    EXPECT_THAT(rights, HasSubstr("NOPERM "));
    EXPECT_EQ(follow_redis(rights), 1);
    EXPECT_THAT(refusal(), AllOf(Not(HasSubstr("NOPERM")), Not(HasSubstr("ACL SETUSER"))));
  }

  void settle_database() {
    const std::string nobody = refusal();
    EXPECT_THAT(nobody, HasSubstr("Access denied for user 'guard'@'localhost'"));
    EXPECT_EQ(follow_sql(nobody, "CREATE USER "), 1);
    EXPECT_THAT(refusal(), HasSubstr("Access denied for user 'guard'@'localhost'"));
    set_password("--database-password-file", "wrong");
    EXPECT_THAT(refusal(), HasSubstr("If the password is correct, the account is missing"));
    set_password("--database-password-file", kPassword);
    EXPECT_THAT(refusal(), HasSubstr("to database 'shop'"));
    EXPECT_EQ(follow_sql(refusal(), "GRANT SELECT ON `shop`.* TO 'guard'@'localhost';"), 1);
    const std::string grants = refusal();
    EXPECT_THAT(grants, HasSubstr("a grant is missing: GRANT REPLICATION SLAVE ON *.* TO "));
    EXPECT_EQ(follow_sql(grants, "GRANT "), 3);
    session_->run("SET GLOBAL binlog_format = MIXED");
    EXPECT_EQ(follow_sql(refusal(), "SET GLOBAL binlog_format = ROW"), 1);
  }

  void settle_keys() {
    flags_["--table"] = "usr";
    EXPECT_THAT(
        refusal(),
        HasSubstr(
            "table \"usr\" does not exist, or this user may not read it, did you mean \"user\"?"));
    flags_["--table"] = "user";
    flags_["--example"] = "users:7";
    EXPECT_THAT(refusal(),
                HasSubstr("\"users:7\" does not match the template user:{id:uint64}: at byte 4, "
                          "before \"s:7\", the template has \":\""));
    flags_["--key"] = "users:{idd:uint64}";
    EXPECT_THAT(refusal(), HasSubstr("has no column `idd`, did you mean \"id\"?"));
    flags_["--key"] = "users:{id:uint64}";
  }

  // By the command that it has said.
  void start(const std::string& said) {
    const std::string begin = "\n  cuckooguard ";
    std::size_t at = said.find(begin);
    ASSERT_NE(at, std::string::npos) << said;
    at += begin.size();
    std::istringstream words(said.substr(at, said.find('\n', at) - at));
    std::vector<std::string> command{guard_binary()};
    for (std::string word; words >> word;) {
      command.push_back(word);
    }
    guard_.emplace(command, ChildProcess::Output{folder_ / "output", folder_ / "errors"});
    ASSERT_TRUE(eventually([this] { return log().contains("event=listening"); })) << log();
  }
  std::string log() const { return read_whole_file(folder_ / "errors"); }
  RawClient application() const {
    RawClient client = RawClient::to_port(port_);
    EXPECT_EQ(client.call({"AUTH", "master"}), "+OK\r\n");
    return client;
  }

  TemporaryDirectory folder_;
  std::optional<MariaDbServer> server_;
  std::optional<SqlSession> session_;
  std::optional<RedisServer> redis_;
  std::uint16_t port_ = free_port();
  std::map<std::string, std::string> flags_;
  std::optional<ChildProcess> guard_;
};

TEST_F(FirstHour, leads_from_servers_with_passwords_to_a_stopped_attack) {
  set_password("--database-password-file", kPassword);
  settle_redis();
  settle_database();
  EXPECT_THAT(init().standard_error, HasSubstr("--table is missing"));
  settle_keys();

  const Ended ended = init();
  ASSERT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_EQ(ended.standard_error, "");
  const std::string yaml = read_whole_file(file());
  EXPECT_THAT(yaml, AllOf(Not(HasSubstr(kPassword)), HasSubstr("\n    mode: observe\n")));
  EXPECT_EQ(run_guard({"check", "--config", file()}).exit_code, 0);

  // A test does not wait for the first minute, in which all keys pass.
  const std::string patient = yaml + "    overlay: { pass_at_start: false }\n";
  write_whole_file(file(), patient);
  start(ended.standard_output);
  RawClient client = application();
  // More than is tolerated: a few pass like any other read.
  constexpr std::uint64_t kBurst = 100;
  const auto attack = [&client] {
    for (std::uint64_t n = 0; n < kBurst; ++n) {
      client.call({"GET", "users:" + std::to_string(123'456 + n)});
    }
  };
  EXPECT_TRUE(eventually([&] {
    attack();
    return testing::Value(client.call({"GUARD.INFO", "user"}),
                          ContainsRegex("[1-9][0-9]* % of look-ups would have been stopped"));
  })) << client.call({"GUARD.INFO", "user"})
      << log();
  EXPECT_THAT(log(), Not(HasSubstr("control_not_allowed")));

  std::string enforcing = patient;
  enforcing.replace(enforcing.find("mode: observe"), 13, "mode: enforce");
  enforcing.replace(enforcing.find("#absent_reply"), 1, "");
  write_whole_file(file(), enforcing);
  guard_->send_signal(SIGHUP);
  EXPECT_TRUE(eventually([&] {
    const std::uint64_t before = redis_->calls("get");
    attack();
    return redis_->calls("get") - before < kBurst / 2;
  })) << log();
  guard_->send_signal(SIGTERM);
  EXPECT_EQ(guard_->exit_code(), 0) << log();
}

TEST_F(FirstHour, suggests_keys_that_a_start_takes) {
  create_guard_user(*server_);
  write_whole_file(flags_["--database-password-file"] = folder_ / "database", "word");
  write_whole_file(flags_["--redis-password-file"] = folder_ / "redis", "master");
  session_->run(
      "CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY);"
      "CREATE TABLE tag (tenant INT UNSIGNED, name VARCHAR(20) CHARACTER SET utf8mb4, PRIMARY KEY "
      "(tenant, name));"
      "CREATE TABLE code (c VARBINARY(9) PRIMARY KEY);"
      "CREATE TABLE session (id BINARY(16) PRIMARY KEY);"
      "CREATE TABLE price (p DECIMAL(9, 2) PRIMARY KEY)");
  const std::vector<std::pair<std::string, std::string>> suggested{
      {"user", "user:{id:uint64}"},
      {"post", "post:{id:int64}"},
      {"tag", "tag:{tenant:uint64}:{name|ci}"},
      {"code", "code:{c}"},
      {"session", "session:{id:uuid}"}};
  for (const auto& [table, key] : suggested) {
    flags_["--table"] = table;
    flags_["--output"] = folder_ / table;
    EXPECT_EQ(init().standard_error, "") << table;
    EXPECT_THAT(read_whole_file(flags_["--output"]), HasSubstr("    keys: \"" + key + "\"\n"));
  }
  flags_["--table"] = "price";
  flags_["--output"] = file();
  EXPECT_THAT(init().standard_error, HasSubstr("--key is missing"));
}

// As people do, with Enter where they can: a database without a server, a Redis without a password.
TEST(FirstHourOfPeople, is_asked_for_on_a_terminal) {
  const TemporaryDirectory folder;
  Database shop(folder / "shop.db", Journal::wal);
  shop.insert_user(7);
  const RedisServer redis;
  const std::string file = folder / "guard.yaml";
  write_whole_file(folder / "answers",
                   "nowhere\n\n\n\n" + redis.address() + "\n\n\n\nsqlite\n" + shop.path().string() +
                       "\nusers\nuser\n\n\nuser:7\ntag\n\n\n\n");
  const Ended ended =
      run_program({"script", "-qec", guard_binary() + " init --output " + file, "/dev/null"},
                  folder / "answers");
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.standard_output,
              AllOf(HasSubstr("\"nowhere\" has no port"),
                    HasSubstr("table \"users\" does not exist, or this user may not read it, did "
                              "you mean \"user\"?"),
                    HasSubstr("[user:{id:int64}]: "),
                    HasSubstr("Another table (Enter: none): "),
                    HasSubstr("guard.yaml. With it the guard observes")));
  EXPECT_THAT(read_whole_file(file), HasSubstr("\n  tag:\n    keys: \"tag:{name"));
  const Ended checked = run_guard({"plan", "--config", file});
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_error << ended.standard_output;
}

// A database without a server, a Redis without a password, and flags for all.
class FirstHourByFlags : public testing::Test {
 protected:
  FirstHourByFlags() {
    shop_.insert_user(1);
    shop_.insert_tag("new");
  }
  Ended init(std::vector<std::string> more) const {
    more.insert(more.begin(), "init");
    return run_guard(std::move(more));
  }
  Ended init_new(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"--redis",
                 redis_.address(),
                 "--type",
                 "sqlite",
                 "--path",
                 shop_.path().string(),
                 "--output",
                 file_});
    return init(std::move(more));
  }

  const TemporaryDirectory folder_;
  Database shop_{folder_ / "shop.db", Journal::wal};
  const RedisServer redis_;
  const std::string file_ = folder_ / "guard.yaml";
};

TEST_F(FirstHourByFlags, may_begin_with_several_tables_and_add_more) {
  const Ended both = init_new({"--table",
                               "user",
                               "--key",
                               "user:{id:uint64}",
                               "--table",
                               "tag",
                               "--key",
                               "tag:{name}",
                               "--example",
                               "user:1",
                               "--example",
                               "tag:new"});
  ASSERT_EQ(both.exit_code, 0) << both.standard_error;
  EXPECT_THAT(both.standard_output,
              HasSubstr("The packaged service reads only /etc/cuckooguard/cuckooguard.yaml"));
  const std::string before = read_whole_file(file_);
  const Ended third =
      init({"--add", file_, "--table", "tag", "--key", "label:{name}", "--example", "label:new"});
  ASSERT_EQ(third.exit_code, 0) << third.standard_error;
  EXPECT_THAT(third.standard_output, HasSubstr("added one namespace, in observe mode"));
  const std::string after = read_whole_file(file_);
  EXPECT_GT(after.size(), before.size());
  EXPECT_THAT(after, HasSubstr("# Up to this many reads of absent keys")) << "comments stay";
  const Ended planned = run_guard({"plan", "--config", file_});
  EXPECT_EQ(planned.exit_code, 0) << planned.standard_error;
  EXPECT_THAT(planned.standard_output, ContainsRegex("user +user .*\ntag +tag .*\ntag_2 +tag "));
}

TEST_F(FirstHourByFlags, ends_at_an_example_that_no_row_has) {
  const Ended absent =
      init_new({"--table", "user", "--key", "user:{id:uint64}", "--example", "user:987654321"});
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_THAT(absent.standard_error,
              HasSubstr("\"user:987654321\" matches user:{id:uint64}, but its row does not exist"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace cuckooguard::harness
