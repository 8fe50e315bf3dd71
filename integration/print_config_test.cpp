// `cuckooguard --print-config`: what is in force and where it comes from; flags that stand above
// the file.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class PrintConfig : public testing::Test {
 protected:
  Ended print(const std::string& yaml, std::vector<std::string> more = {}) {
    const std::filesystem::path file = directory_ / "shop.yaml";
    write_whole_file(file, yaml);
    more.insert(more.begin(), {"--config", file.string(), "--print-config"});
    return run_guard(std::move(more));
  }

  TemporaryDirectory directory_;
};

// Without comments.
std::string settings_of(const std::string& text) {
  std::string settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    settings += line.substr(0, line.find(" #")) + "\n";
  }
  return settings;
}

TEST_F(PrintConfig, shows_every_setting_with_its_origin) {
  ::setenv("PRINT_CONFIG_CLIENTS", "77", 1);  // NOLINT(concurrency-mt-unsafe)
  const Ended ended = print(
      "upstream: redis.example:6379\n"
      "limits: { max_clients: '${PRINT_CONFIG_CLIENTS}' }\n",
      {"--listen", "127.0.0.1:7000", "--set", "log.level=error"});
  EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_EQ(ended.standard_error, "");
  for (const char* const line : {"\n  address: 127.0.0.1:7000 +# flag --listen\n",
                                 "\n  address: redis.example:6379 +# shop.yaml:1\n",
                                 "\n  mode: shared +# default\n",
                                 "\n  max_clients: 77 +# environment PRINT_CONFIG_CLIENTS\n",
                                 "\n  level: error +# flag --set log.level\n"}) {
    EXPECT_THAT(ended.standard_output, ContainsRegex(line));
  }
}

TEST_F(PrintConfig, its_output_is_a_configuration_with_the_same_settings) {
  const Shop shop;
  const Ended first = print(shop.yaml());
  ASSERT_EQ(first.exit_code, 0) << first.standard_error;
  const Ended second = print(first.standard_output);
  ASSERT_EQ(second.exit_code, 0) << second.standard_error;
  EXPECT_EQ(settings_of(second.standard_output), settings_of(first.standard_output));
}

TEST_F(PrintConfig, shows_no_secret) {
  const Ended ended = print(
      "upstream: { address: redis:1, control: { username: guard, password: hunter2 } }\n"
      "sources: { a: { type: mysql, addresses: db:1, user: u, database: d, password: hunter2 } "
      "}\n");
  EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_THAT(ended.standard_output + ended.standard_error, Not(HasSubstr("hunter2")));
  EXPECT_THAT(ended.standard_output, HasSubstr("#password: \"***\""));
}

TEST_F(PrintConfig, prints_nothing_of_a_configuration_that_is_wrong) {
  const Ended ended = print("workers: 0\n", {"--log-level", "loud"});
  EXPECT_EQ(ended.exit_code, 78);
  EXPECT_EQ(ended.standard_output, "");
  EXPECT_THAT(ended.standard_error, HasSubstr("--log-level: level: \"loud\" is unknown; valid: "));
  EXPECT_THAT(ended.standard_error, HasSubstr("shop.yaml:1:10: workers: \"0\" must be auto"));
}

TEST_F(PrintConfig, a_flag_is_what_the_guard_runs_with) {
  const Ended ended = print("listen: 127.0.0.1:1\n", {"--listen", "nowhere"});
  EXPECT_EQ(ended.exit_code, 78);
  EXPECT_THAT(ended.standard_error, HasSubstr("--listen: address: \"nowhere\" has no port"));
}

}  // namespace
}  // namespace cuckooguard::harness
