#include "cli/options.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output.h"
#include "cli/parsed_command.h"

namespace cuckooguard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Options, a_configuration_is_all_it_needs) {
  int exit_code = -1;
  const auto options = parse({"--config", "guard.yaml"}, exit_code);
  ASSERT_TRUE(options);
  ASSERT_TRUE(options->as<Serve>() != nullptr) << "it is not only checked";
  EXPECT_EQ(options->as<Serve>()->config.path, "guard.yaml");
}

TEST(Options, what_init_would_ask_can_be_said_by_flags) {
  int exit_code = -1;
  const auto usual = parse({"init"}, exit_code);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->as<Init>()->output, "cuckooguard.yaml");
  EXPECT_TRUE(usual->as<Init>()->answers.empty()) << "all is asked";
  const auto given = parse({"init",
                            "--redis",
                            "r:1",
                            "--redis-user",
                            "",
                            "--redis-password-env",
                            "REDIS_PASSWORD",
                            "--database-password-file",
                            "/word",
                            "--output",
                            "f",
                            "--force"},
                           exit_code);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->as<Init>()->answers,
            (Answers{{"--redis", "r:1"},
                     {"--redis-user", ""},
                     {"--redis-password-file", "${REDIS_PASSWORD}"},
                     {"--database-password-file", "/word"}}));
  EXPECT_EQ(given->as<Init>()->output, "f");
  const auto several = parse({"init",
                              "--add",
                              "f",
                              "--source",
                              "shop",
                              "--table",
                              "a",
                              "--key",
                              "a:{id}",
                              "--table",
                              "b",
                              "--key",
                              "b:{id}",
                              "--example",
                              "b:1"},
                             exit_code);
  ASSERT_TRUE(several);
  EXPECT_EQ(several->as<Init>()->tables, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(several->as<Init>()->keys, (std::vector<std::string>{"a:{id}", "b:{id}"}));
  EXPECT_EQ(several->as<Init>()->examples, (std::vector<std::string>{"b:1"}));
  EXPECT_EQ(several->as<Init>()->added_to, "f");
  EXPECT_EQ(several->as<Init>()->source, "shop");
  EXPECT_FALSE(parse({"init", "--add", "f", "--force"}, exit_code));
  EXPECT_TRUE(given->as<Init>()->force);
}

TEST(Options, a_ping_goes_to_the_default_listener_unless_told_otherwise) {
  int exit_code = -1;
  const auto usual = parse({"ping"}, exit_code);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->as<Ping>()->address, config::Listen{}.address);
  EXPECT_FALSE(usual->as<Ping>()->alive);
  const auto given =
      parse({"ping", "--alive", "unix:/run/redis.sock", "--timeout", "500ms"}, exit_code);
  ASSERT_TRUE(given);
  EXPECT_TRUE(given->as<Ping>()->alive);
  EXPECT_EQ(given->as<Ping>()->address.unix_path, "/run/redis.sock");
  EXPECT_EQ(given->as<Ping>()->timeout, std::chrono::milliseconds(500));
}

TEST(Options, a_ping_may_go_by_tls_with_the_names_of_redis_cli) {
  int exit_code = -1;
  const auto usual = parse({"ping", "--tls"}, exit_code);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->as<Ping>()->tls.chosen(), config::UpstreamTls{});
  const auto given = parse({"ping",
                            "--tls",
                            "--cacert",
                            "ca",
                            "--cert",
                            "c",
                            "--key",
                            "k",
                            "--sni",
                            "redis.example",
                            "--insecure"},
                           exit_code);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->as<Ping>()->tls.chosen(),
            (config::UpstreamTls{"ca", "c", "k", "redis.example", false}));
}

TEST(Options, a_guard_may_be_asked_by_tls_and_a_configuration_not) {
  int exit_code = -1;
  const auto asked = parse({"explain", "user:1", "--address", "guard:6380", "--tls"}, exit_code);
  ASSERT_TRUE(asked);
  EXPECT_TRUE(asked->as<Explain>()->tls.chosen());
  EXPECT_FALSE(parse({"explain", "user:1", "--config", "guard.yaml", "--tls"}, exit_code));
  EXPECT_EQ(exit_code, kExitUsage);
}

TEST(Options, a_password_in_an_address_is_not_repeated) {
  for (std::vector<const char*> words :
       {std::vector{"ping", "guard:hunter2@redis:6379"},
        std::vector{"ping", "redis://:hunter2@redis:6379"},
        std::vector{"explain", "k", "--address", "u:hunter2@h:1"}}) {
    words.insert(words.begin(), "cuckooguard");
    int exit_code = -1;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(
        parse_options(static_cast<int>(words.size()), words.data(), guests::program(), exit_code));
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("write host:port"), Not(HasSubstr("hunter2"))));
  }
}

TEST(Options, what_is_misspelled_is_told_with_what_was_probably_meant) {
  int exit_code = -1;
  const auto told = [&](std::vector<const char*> words) {
    words.insert(words.begin(), "cuckooguard");
    testing::internal::CaptureStderr();
    EXPECT_FALSE(
        parse_options(static_cast<int>(words.size()), words.data(), guests::program(), exit_code));
    EXPECT_EQ(exit_code, kExitUsage);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(told({"--cofig", "guard.yaml"}), HasSubstr("--cofig: did you mean \"--config\"?"));
  EXPECT_THAT(told({"--config", "f", "--log-leve=debug"}),
              HasSubstr("--log-leve: did you mean \"--log-level\"?"));
  EXPECT_THAT(told({"ping", "--tsl"}), HasSubstr("--tsl: did you mean \"--tls\"?"));
  EXPECT_THAT(told({"ping", "--tls", "--cacrt", "ca.crt"}),
              HasSubstr("--cacrt: did you mean \"--cacert\"?"))
      << "ca.crt is no address, either";
  EXPECT_THAT(told({"chekc"}), HasSubstr("chekc: did you mean \"check\"?"));
  if (!guests::program().guests.built.formats.empty()) {  // the filter tool is a guest's
    EXPECT_THAT(told({"filter", "qery", "f"}), HasSubstr("qery: did you mean \"query\"?"));
  }
  EXPECT_THAT(told({"ping", "--nothing-like-it"}), Not(HasSubstr("did you mean")));
}

TEST(Options, presets_can_be_listed_without_a_configuration) {
  int exit_code = -1;
  const auto presets = parse({"presets"}, exit_code);
  ASSERT_TRUE(presets);
  EXPECT_TRUE(presets->as<ListPresets>() != nullptr);
}

TEST(Options, help_and_version_end_well_without_a_configuration) {
  int exit_code = -1;
  EXPECT_FALSE(parse({"--help"}, exit_code));
  EXPECT_EQ(exit_code, 0);
  const auto version = parse({"--version"}, exit_code);
  ASSERT_TRUE(version);
  EXPECT_TRUE(version->as<ShowVersion>() != nullptr);
}

TEST(Options, flags_stand_above_the_configuration) {
  int exit_code = -1;
  const auto options = parse({"--config",
                              "guard.yaml",
                              "--set",
                              "limits.max_clients=5",
                              "--listen",
                              "127.0.0.1:1",
                              "--set",
                              "storage.directory=a=b",
                              "--upstream",
                              "redis:1",
                              "--log-level",
                              "debug",
                              "--print-config"},
                             exit_code);
  ASSERT_TRUE(options);
  ASSERT_TRUE(options->as<PrintConfig>() != nullptr);
  std::set<std::string> seen;
  for (const config::Override& override : options->as<PrintConfig>()->config.overrides) {
    seen.insert(override.flag + " | " + override.path + " | " + override.value);
  }
  EXPECT_EQ(seen,
            (std::set<std::string>{"--listen | listen.address | 127.0.0.1:1",
                                   "--upstream | upstream.address | redis:1",
                                   "--log-level | log.level | debug",
                                   "--set limits.max_clients | limits.max_clients | 5",
                                   "--set storage.directory | storage.directory | a=b"}));
}

// They were flags before they were subcommands.
TEST(Options, what_only_reads_a_configuration_is_a_subcommand_or_a_flag) {
  int exit_code = -1;
  const auto expect = [&]<typename Expected>(const char* subcommand, const char* flag, Expected) {
    for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
             {subcommand, "--config", "guard.yaml", "--listen", "127.0.0.1:1"},
             {"--listen", "127.0.0.1:1", flag, "--config", "guard.yaml"}}) {
      const auto command = parse(words, exit_code);
      ASSERT_TRUE(command && command->as<Expected>() != nullptr) << words.front();
      const ConfigFlags& config = command->as<Expected>()->config;
      EXPECT_EQ(config.path, "guard.yaml");
      ASSERT_EQ(config.overrides.size(), 1U);
      EXPECT_EQ(config.overrides.front().value, "127.0.0.1:1");
    }
  };
  expect("check", "--check-config", Check{});
  expect("print-config", "--print-config", PrintConfig{});
  expect("plan", "--plan", ShowPlan{});
}

TEST(Options, a_key_is_explained_by_a_configuration_or_by_a_guard) {
  int exit_code = -1;
  const auto offline = parse({"explain", "user:1", "--config", "guard.yaml"}, exit_code);
  ASSERT_TRUE(offline);
  EXPECT_EQ(offline->as<Explain>()->key, "user:1");
  EXPECT_EQ(offline->as<Explain>()->config_path, "guard.yaml");
  const auto asked = parse({"explain", "user:1", "--address", "127.0.0.1:6380"}, exit_code);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->as<Explain>()->address, config::Listen{}.address);
  const auto as_bob = parse(
      {"explain", "k", "--address", "g:1", "--user", "bob", "--password-file", "/bob"}, exit_code);
  ASSERT_TRUE(as_bob);
  EXPECT_EQ(as_bob->as<Explain>()->login.user, "bob");
  EXPECT_EQ(as_bob->as<Explain>()->login.password_file, "/bob");
}

TEST(Options, a_usage_error_is_64) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {},
           {"--config"},
           {"--config", "a", "--nonsense"},
           {"guard.yaml"},
           {"triggers"},
           {"filter"},
           {"filter", "inspect"},
           {"filter", "create", "f"},
           {"filter", "add", "f", "a"},
           {"filter", "import", "f", "--format", "go-zero"},
           {"filter", "export", "f", "--format", "go-zero", "--redis", "r", "--key", "k"},
           {"explain"},
           {"explain", "user:1"},
           {"explain", "--config", "f"},
           {"explain", "k", "--address", "6380"},
           {"explain", "k", "--config", "f", "--user", "bob"},
           {"--config", "f", "--set", "workers"},
           {"--config", "f", "--plan", "--check-config"},
           {"check"},
           {"print-config", "--config"},
           {"plan", "guard.yaml"},
           {"check", "--config", "f", "--set", "workers"},
           {"ping", "6380"},
           {"ping", "--timeout", "5"},
           {"ping", "--timeout", "0s"},
           {"ping", "--cacert", "ca"},
           {"ping", "--tls", "--cert", "c"},
           {"filter", "query", "f", "--secret", "s", "user:1"}}) {
    int exit_code = -1;
    EXPECT_FALSE(parse(words, exit_code));
    EXPECT_EQ(exit_code, kExitUsage);
  }
}

}  // namespace
}  // namespace cuckooguard::cli
