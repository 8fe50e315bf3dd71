#include "cli/options.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output.h"

namespace cuckooguard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::optional<Command> parse(std::vector<const char*> words, int& exit_code) {
  words.insert(words.begin(), "cuckooguard");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto options = parse_options(static_cast<int>(words.size()), words.data(), exit_code);
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  return options;
}

TEST(Options, a_configuration_is_all_it_needs) {
  int exit_code = -1;
  const auto options = parse({"--config", "guard.yaml"}, exit_code);
  ASSERT_TRUE(options);
  ASSERT_TRUE(std::holds_alternative<Serve>(*options)) << "it is not only checked";
  EXPECT_EQ(std::get<Serve>(*options).config.path, "guard.yaml");
}

TEST(Options, a_filter_file_can_be_inspected_and_queried) {
  int exit_code = -1;
  const auto inspect = parse({"filter", "inspect", "users.filter"}, exit_code);
  ASSERT_TRUE(inspect);
  EXPECT_EQ(std::get<InspectFilter>(*inspect).path, "users.filter");
  const auto query = parse({"filter",
                            "query",
                            "users.filter",
                            "--secret",
                            "secret",
                            "--template",
                            "user:{id}",
                            "user:1",
                            "user:2"},
                           exit_code);
  ASSERT_TRUE(query);
  EXPECT_EQ(std::get<QueryFilter>(*query).path, "users.filter");
  EXPECT_EQ(std::get<QueryFilter>(*query).secret_path, "secret");
  EXPECT_EQ(std::get<QueryFilter>(*query).key_template, "user:{id}");
  EXPECT_EQ(std::get<QueryFilter>(*query).keys, (std::vector<std::string>{"user:1", "user:2"}));
  const auto foreign = parse({"filter",
                              "query",
                              "f",
                              "--format",
                              "guava-bitmap",
                              "--bits",
                              "80",
                              "--hashes",
                              "7",
                              "--strategy",
                              "murmur128_mitz_64",
                              "--funnel",
                              "long",
                              "1"},
                             exit_code);
  ASSERT_TRUE(foreign);
  const ForeignFile& file = std::get<QueryFilter>(*foreign).foreign;
  EXPECT_EQ(file.format, "guava-bitmap");
  EXPECT_EQ(file.bits, 80U);
  EXPECT_EQ(file.hashes, 7U);
  EXPECT_EQ(file.strategy, "murmur128_mitz_64");
  EXPECT_EQ(file.funnel, "long");
  EXPECT_FALSE(parse({"filter", "inspect", "f", "--format", "gozero"}, exit_code));
}

TEST(Options, filters_of_other_libraries_can_be_made_filled_and_moved) {
  int exit_code = -1;
  const auto create = parse(
      {"filter", "create", "f", "--format", "redisson", "--capacity", "5000", "--rate", "0.01"},
      exit_code);
  ASSERT_TRUE(create);
  EXPECT_EQ(std::get<CreateFilter>(*create).path, "f");
  EXPECT_EQ(std::get<CreateFilter>(*create).foreign.format, "redisson");
  EXPECT_EQ(std::get<CreateFilter>(*create).wanted.capacity, 5000U);
  EXPECT_EQ(std::get<CreateFilter>(*create).wanted.rate, 0.01);
  const auto add = parse({"filter", "add", "f", "--format", "guava", "a", "b"}, exit_code);
  ASSERT_TRUE(add);
  EXPECT_EQ(std::get<AddToFilter>(*add).items, (std::vector<std::string>{"a", "b"}));
  const auto lines = parse({"filter", "add", "f", "--format", "guava", "-"}, exit_code);
  ASSERT_TRUE(lines);
  EXPECT_EQ(std::get<AddToFilter>(*lines).items, std::vector<std::string>{"-"});
  const auto import = parse({"filter",
                             "import",
                             "f",
                             "--format",
                             "redisson",
                             "--redis",
                             "r:1",
                             "--key",
                             "k",
                             "--db",
                             "3",
                             "--user",
                             "bob",
                             "--force",
                             "--tls",
                             "--cert",
                             "c",
                             "--cert-key",
                             "ck"},
                            exit_code);
  ASSERT_TRUE(import);
  const auto& [path, force, foreign, redis] = std::get<ImportFilter>(*import);
  EXPECT_TRUE(force);
  EXPECT_EQ(redis.address->text(), "r:1");
  EXPECT_EQ(redis.key, "k");
  EXPECT_EQ(redis.db, 3U);
  EXPECT_EQ(redis.login.user, "bob");
  EXPECT_EQ(redis.tls.tls.key, "ck");
  const auto out = parse({"filter",
                          "export",
                          "f",
                          "--format",
                          "go-zero",
                          "--bits",
                          "8",
                          "--redis",
                          "r:1",
                          "--key",
                          "k"},
                         exit_code);
  ASSERT_TRUE(out);
  EXPECT_EQ(std::get<ExportFilter>(*out).redis.key, "k");
}

TEST(Options, what_init_would_ask_can_be_said_by_flags) {
  int exit_code = -1;
  const auto usual = parse({"init"}, exit_code);
  ASSERT_TRUE(usual);
  EXPECT_EQ(std::get<Init>(*usual).output, "cuckooguard.yaml");
  EXPECT_TRUE(std::get<Init>(*usual).answers.empty()) << "all is asked";
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
  EXPECT_EQ(std::get<Init>(*given).answers,
            (Answers{{"--redis", "r:1"},
                     {"--redis-user", ""},
                     {"--redis-password-file", "${REDIS_PASSWORD}"},
                     {"--database-password-file", "/word"}}));
  EXPECT_EQ(std::get<Init>(*given).output, "f");
  EXPECT_TRUE(std::get<Init>(*given).force);
}

TEST(Options, the_triggers_of_a_configuration_can_be_printed) {
  int exit_code = -1;
  const auto triggers =
      parse({"triggers", "--config", "guard.yaml", "--source", "shop"}, exit_code);
  ASSERT_TRUE(triggers);
  EXPECT_EQ(std::get<PrintTriggers>(*triggers).config_path, "guard.yaml");
  EXPECT_EQ(std::get<PrintTriggers>(*triggers).source, "shop");
}

TEST(Options, a_ping_goes_to_the_default_listener_unless_told_otherwise) {
  int exit_code = -1;
  const auto usual = parse({"ping"}, exit_code);
  ASSERT_TRUE(usual);
  EXPECT_EQ(std::get<Ping>(*usual).address, config::Listen{}.address);
  EXPECT_FALSE(std::get<Ping>(*usual).alive);
  const auto given =
      parse({"ping", "--alive", "unix:/run/redis.sock", "--timeout", "500ms"}, exit_code);
  ASSERT_TRUE(given);
  EXPECT_TRUE(std::get<Ping>(*given).alive);
  EXPECT_EQ(std::get<Ping>(*given).address.unix_path, "/run/redis.sock");
  EXPECT_EQ(std::get<Ping>(*given).timeout, std::chrono::milliseconds(500));
}

TEST(Options, a_ping_may_go_by_tls_with_the_names_of_redis_cli) {
  int exit_code = -1;
  const auto usual = parse({"ping", "--tls"}, exit_code);
  ASSERT_TRUE(usual);
  EXPECT_EQ(std::get<Ping>(*usual).tls.chosen(), config::UpstreamTls{});
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
  EXPECT_EQ(std::get<Ping>(*given).tls.chosen(),
            (config::UpstreamTls{"ca", "c", "k", "redis.example", false}));
}

TEST(Options, a_guard_may_be_asked_by_tls_and_a_configuration_not) {
  int exit_code = -1;
  const auto asked = parse({"explain", "user:1", "--address", "guard:6380", "--tls"}, exit_code);
  ASSERT_TRUE(asked);
  EXPECT_TRUE(std::get<Explain>(*asked).tls.chosen());
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
    EXPECT_FALSE(parse_options(static_cast<int>(words.size()), words.data(), exit_code));
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("write host:port"), Not(HasSubstr("hunter2"))));
  }
}

TEST(Options, what_is_misspelled_is_told_with_what_was_probably_meant) {
  int exit_code = -1;
  const auto told = [&](std::vector<const char*> words) {
    words.insert(words.begin(), "cuckooguard");
    testing::internal::CaptureStderr();
    EXPECT_FALSE(parse_options(static_cast<int>(words.size()), words.data(), exit_code));
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
  EXPECT_THAT(told({"ping", "--nothing-like-it"}), Not(HasSubstr("did you mean")));
}

TEST(Options, presets_can_be_listed_without_a_configuration) {
  int exit_code = -1;
  const auto presets = parse({"presets"}, exit_code);
  ASSERT_TRUE(presets);
  EXPECT_TRUE(std::holds_alternative<ListPresets>(*presets));
}

TEST(Options, help_and_version_end_well_without_a_configuration) {
  int exit_code = -1;
  EXPECT_FALSE(parse({"--help"}, exit_code));
  EXPECT_EQ(exit_code, 0);
  const auto version = parse({"--version"}, exit_code);
  ASSERT_TRUE(version);
  EXPECT_TRUE(std::holds_alternative<ShowVersion>(*version));
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
  ASSERT_TRUE(std::holds_alternative<PrintConfig>(*options));
  std::set<std::string> seen;
  for (const config::Override& override : std::get<PrintConfig>(*options).config.overrides) {
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
      ASSERT_TRUE(command && std::holds_alternative<Expected>(*command)) << words.front();
      const ConfigFlags& config = std::get<Expected>(*command).config;
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
  EXPECT_EQ(std::get<Explain>(*offline).key, "user:1");
  EXPECT_EQ(std::get<Explain>(*offline).config_path, "guard.yaml");
  const auto asked = parse({"explain", "user:1", "--address", "127.0.0.1:6380"}, exit_code);
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<Explain>(*asked).address, config::Listen{}.address);
  const auto as_bob = parse(
      {"explain", "k", "--address", "g:1", "--user", "bob", "--password-file", "/bob"}, exit_code);
  ASSERT_TRUE(as_bob);
  EXPECT_EQ(std::get<Explain>(*as_bob).user, "bob");
  EXPECT_EQ(std::get<Explain>(*as_bob).password_file, "/bob");
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
