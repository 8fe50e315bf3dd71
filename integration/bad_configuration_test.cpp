// Every error at once, as file:line:column, before anything is bound; and the exit codes that a
// supervisor acts on.

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/ports.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr int kFailure = 1;
constexpr int kUsage = 64;
constexpr int kConfiguration = 78;

class BadConfiguration : public testing::Test {
 protected:
  Ended run(const std::string& yaml, std::vector<std::string> more = {}) {
    const std::filesystem::path file = directory_ / "bad.yaml";
    write_whole_file(file, yaml);
    more.insert(more.begin(), {"--config", file.string()});
    Ended ended = run_guard(std::move(more));
    // How often the file is named: once for each error.
    for (std::size_t at = 0;
         (at = ended.standard_error.find(file.string(), at)) != std::string::npos;
         ++at) {
      ++errors_;
    }
    return ended;
  }

  std::string listen_on_taken_port() const {
    return "listen: 127.0.0.1:" + std::to_string(taken_.port()) + "\n";
  }

  // One namespace, of this database and table.
  std::string of_table(const std::string& path, const std::string& table) const {
    return listen_on_taken_port() + "sources: { shop: { type: sqlite, path: \"" + path +
           "\" } }\n"
           "namespaces:\n"
           "  users:\n"
           "    keys: \"user:{id:uint64}\"\n"
           "    source: { from: shop, table: " +
           table + " }\n";
  }

  TemporaryDirectory directory_;
  TakenPort taken_;  // who tries to bind it fails with another exit code
  int errors_ = 0;
};

TEST_F(BadConfiguration, shows_every_error_with_its_place_and_binds_nothing) {
  const Ended ended = run(listen_on_taken_port() +
                          "upstreem: 127.0.0.1:6379\n"                     // 2:1 unknown
                          "workers: many\n"                                // 3:10 no number
                          "drain_timeout: 10\n"                            // 4:16 no unit
                          "sources:\n"                                     //
                          "  shop: { type: sqlite, path: /nowhere.db }\n"  //
                          "namespaces:\n"                                  //
                          "  users:\n"                                     //
                          "    keys: \"user:{id:uint64\"\n"                // 9: no closing brace
                          "    source: { from: shoop, table: user }\n"     // 10: no such source
                          "    mode: enforce\n");  // 11: absent_reply missing
  EXPECT_EQ(ended.exit_code, kConfiguration) << ended.standard_error;
  for (const std::string_view expected : {"bad.yaml:2:1: ",
                                          "did you mean \"upstream\"",
                                          "bad.yaml:3:10: ",
                                          "bad.yaml:4:16: ",
                                          "bad.yaml:9:",
                                          "bad.yaml:10:",
                                          "did you mean \"shop\"",
                                          "bad.yaml:11:",
                                          "absent_reply"}) {
    EXPECT_THAT(ended.standard_error, HasSubstr(expected));
  }
  EXPECT_EQ(errors_, 6) << ended.standard_error;
  EXPECT_EQ(ended.standard_output, "");
}

TEST_F(BadConfiguration, is_not_one_that_has_an_old_name_but_it_is_warned_of) {
  const std::string yaml = of_table("/nowhere.db", "user") + "    strict: true\n";
  const Ended checked = run(yaml, {"--check-config"});
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_error;
  EXPECT_THAT(checked.standard_error,
              HasSubstr("bad.yaml:7:5: strict has been renamed to canonical_keys"));
  const Ended started = run(yaml);
  EXPECT_EQ(started.exit_code, kFailure) << "the port is taken";
  EXPECT_THAT(started.standard_error, HasSubstr(" warning event=renamed_setting what=\""));
}

TEST_F(BadConfiguration, that_is_no_yaml_is_an_error_with_its_place) {
  const Ended ended = run("listen: [127.0.0.1\nupstream: }\n");
  EXPECT_EQ(ended.exit_code, kConfiguration);
  EXPECT_THAT(ended.standard_error, HasSubstr("bad.yaml:2:"));
}

TEST_F(BadConfiguration, that_is_not_there_is_named) {
  const Ended ended = run_guard({"--config", (directory_ / "none.yaml").string()});
  EXPECT_EQ(ended.exit_code, kConfiguration);
  EXPECT_THAT(ended.standard_error, HasSubstr("none.yaml: cannot be read"));
}

// What a database refuses is no wrong configuration, unless it is told to be.
TEST_F(BadConfiguration, strict_start_takes_a_database_or_table_that_is_not_there_for_one) {
  const std::string missing = (directory_ / "missing.db").string();
  EXPECT_EQ(run(of_table(missing, "user")).exit_code, kFailure) << "it gets as far as the port";
  Ended ended = run(of_table(missing, "user"), {"--strict-start"});
  EXPECT_EQ(ended.exit_code, kConfiguration);
  EXPECT_THAT(ended.standard_error, HasSubstr(missing));
  EXPECT_FALSE(std::filesystem::exists(missing)) << "the guard must not create it";

  Database database(directory_ / "shop.db", Journal::wal);
  ended = run(of_table(database.path().string(), "uzer"), {"--strict-start"});
  EXPECT_EQ(ended.exit_code, kConfiguration);
  EXPECT_THAT(ended.standard_error, HasSubstr("uzer"));
  EXPECT_THAT(ended.standard_error, HasSubstr("did you mean \"user\""));

  // With the right one it gets as far as the port.
  ended = run(of_table(database.path().string(), "user"), {"--strict-start"});
  EXPECT_EQ(ended.exit_code, kFailure);
  EXPECT_THAT(ended.standard_error, HasSubstr("in use"));
  EXPECT_FALSE(taken_.was_called());
}

TEST_F(BadConfiguration, is_found_by_check_config_without_running) {
  const Ended bad = run(listen_on_taken_port() + "workers: 0\n", {"--check-config"});
  EXPECT_EQ(bad.exit_code, kConfiguration);
  EXPECT_THAT(bad.standard_error, HasSubstr("bad.yaml:2:10: "));
  const Ended good = run(listen_on_taken_port(), {"--check-config"});
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_EQ(good.standard_error, "");
  EXPECT_THAT(good.standard_output,
              testing::EndsWith(": valid, but guards nothing: it defines no namespaces and no "
                                "filters; Redis was not contacted\n"));
  const Ended filters = run("filters: { allow_reserve: \"seen:{id}\" }\n", {"--check-config"});
  EXPECT_THAT(filters.standard_output, testing::EndsWith(": valid; Redis was not contacted\n"));
  const Ended with_source = run(
      listen_on_taken_port() + "sources: { shop: { type: sqlite, path: /nonexistent/shop.db } }\n",
      {"--check-config"});
  EXPECT_EQ(with_source.exit_code, 0);
  EXPECT_THAT(with_source.standard_output,
              testing::EndsWith("filters; neither Redis nor the sources (shop) were contacted; "
                                "--plan checks the sources\n"));
}

TEST_F(BadConfiguration, a_password_that_cannot_be_read_is_told_by_check) {
  const std::string file = directory_ / "password";
  const std::string yaml =
      "upstream: { address: redis:6379, control: { username: guard, password_file: " + file +
      " } }\n"
      "sources: { shop: { type: mysql, addresses: 'db:3306', user: guard, database: shop, "
      "password_file: " +
      file +
      " } }\n"
      "namespaces: { users: { keys: 'user:{id}', source: { from: shop, table: user } } }\n";
  const Ended missing = run(yaml, {"--check-config"});
  EXPECT_EQ(missing.exit_code, 0) << "the service may be somebody else";
  EXPECT_THAT(missing.standard_error,
              testing::AllOf(HasSubstr(": upstream.control.password_file: " + file + " is empty"),
                             HasSubstr(": sources.shop.password_file: " + file + " is empty")));
  EXPECT_THAT(missing.standard_output, HasSubstr(": valid, but a password is missing; "));
  write_whole_file(file, "word\n");
  const Ended good = run(yaml, {"--check-config"});
  EXPECT_EQ(good.standard_error, "");
  EXPECT_THAT(good.standard_output, HasSubstr(": valid; "));
}

TEST_F(BadConfiguration, shows_no_secret) {
  const Ended ended =
      run("upstream: { address: \"127.0.0.1:1\", control: { pasword: hunter2, username: x } }\n");
  EXPECT_EQ(ended.exit_code, kConfiguration);
  EXPECT_THAT(ended.standard_error, testing::Not(HasSubstr("hunter2")));
}

// As it stands in a connection string.
TEST_F(BadConfiguration, shows_no_password_in_front_of_an_address) {
  for (const std::string_view mode : {"--check-config", "--print-config", "--plan"}) {
    const Ended ended = run(
        "sources: { shop: { type: mysql, addresses: \"guard:hunter2@127.0.0.1:3306\", user: guard, "
        "database: shop } }\n",
        {std::string(mode)});
    EXPECT_EQ(ended.exit_code, kConfiguration) << mode;
    EXPECT_THAT(ended.standard_error, HasSubstr("user and password_file")) << mode;
    EXPECT_THAT(ended.standard_error + ended.standard_output, testing::Not(HasSubstr("hunter2")))
        << mode;
  }
}

TEST(CommandLine, answers_help_and_version_and_refuses_the_rest) {
  const Ended help = run_guard({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.standard_output, HasSubstr("--check-config"));
  const Ended version = run_guard({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.standard_output,
              testing::ContainsRegex("^cuckooguard [0-9]+\\.[0-9]+\\.[0-9]+\ncommit: .+\n"));
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {}, {"--confg", "x"}, {"--config"}, {"--config", "x", "y"}}) {
    const Ended ended = run_guard(arguments);
    EXPECT_EQ(ended.exit_code, kUsage);
    EXPECT_NE(ended.standard_error, "");
  }
}

TEST(Signals, sigterm_and_sigint_end_it_at_once_with_exit_code_0) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Shop shop;
    shop.wait_until_it_answers();
    RawClient idle = shop.client();
    EXPECT_EQ(idle.call({"PING"}), "+PONG\r\n");
    RawClient blocked = shop.client();
    blocked.send("BLPOP queue 0\r\n");
    ASSERT_TRUE(
        eventually([&shop] { return shop.redis().info("clients", "blocked_clients") == "1"; }));
    shop.guard().send_signal(signal);
    EXPECT_EQ(shop.guard().exit_code(), 0) << shop.guard().log();
    EXPECT_EQ(idle.read_until_closed(), "");
    EXPECT_EQ(blocked.read_until_closed(), "");
    EXPECT_THROW(shop.client(), std::exception) << "it still listens";
    EXPECT_TRUE(
        eventually([&shop] { return shop.redis().info("clients", "blocked_clients") == "0"; }));
  }
}

}  // namespace
}  // namespace cuckooguard::harness
