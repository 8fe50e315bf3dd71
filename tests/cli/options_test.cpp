#include "cli/options.h"

#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::cli {
namespace {

std::optional<Options> parse(std::vector<const char*> words, int& exit_code) {
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
  EXPECT_EQ(options->config_path, "guard.yaml");
  EXPECT_FALSE(options->check_config);
}

TEST(Options, help_and_version_end_well_without_a_configuration) {
  for (const char* const word : {"--help", "--version"}) {
    int exit_code = -1;
    EXPECT_FALSE(parse({word}, exit_code)) << word;
    EXPECT_EQ(exit_code, 0) << word;
  }
}

TEST(Options, a_usage_error_is_64) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {}, {"--config"}, {"--config", "a", "--nonsense"}, {"guard.yaml"}}) {
    int exit_code = -1;
    EXPECT_FALSE(parse(words, exit_code));
    EXPECT_EQ(exit_code, kExitUsage);
  }
}

}  // namespace
}  // namespace cuckooguard::cli
