#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options.h"
#include "config/values.h"

namespace cuckooguard::cli {
namespace {

using testing::HasSubstr;

TEST(Presets, every_name_stands_alone_in_a_line_above_what_belongs_to_it) {
  std::istringstream lines(list_presets());
  std::set<std::string> names;
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.empty() && line.find(' ') == std::string::npos) {
      EXPECT_TRUE(names.insert(line).second) << line;
      ASSERT_TRUE(std::getline(lines, line));
      EXPECT_TRUE(line.starts_with("  bytes      ")) << line;
    }
  }
  const std::vector<std::string_view> accepted = config::absent_reply_names();
  EXPECT_EQ(names, (std::set<std::string>(accepted.begin(), accepted.end())));
}

TEST(Presets, show_bytes_that_are_no_text_and_where_the_time_stands) {
  const std::string text = list_presets();
  EXPECT_THAT(text, HasSubstr("  bytes      \\x80\\x05N.\n"));
  EXPECT_THAT(text, HasSubstr("  bytes      none: the empty string\n"));
  EXPECT_THAT(text, HasSubstr("\"bytes:null\" for code that caches JSON\n"));
  EXPECT_THAT(text, HasSubstr("  bytes      {\"ct\": <now: seconds>, \"v\": 2}|\\x80\\x04N.\n"));
  EXPECT_THAT(text, HasSubstr("Object;xp<now: 8 bytes, milliseconds, big-endian><now + 5 s: 8 "));
}

TEST(Presets, name_the_frameworks_that_have_none) {
  EXPECT_THAT(list_presets(), HasSubstr("No preset is possible for Laravel"));
}

}  // namespace
}  // namespace cuckooguard::cli
