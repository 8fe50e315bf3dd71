#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commit.h"
#include "cli/options.h"
#include "guests/guests.h"

namespace cuckooguard::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Version, names_the_build_and_every_library_with_a_number) {
  const std::string text = version_text(guests::program().guests);
  EXPECT_THAT(text, testing::StartsWith("cuckooguard " CUCKOOGUARD_VERSION "\ncommit: "));
  EXPECT_THAT(text, HasSubstr(std::string("\ncommit: ") + std::string(app::commit()) + "\n"));
  for (const std::string name : {"boost",
                                 "cli11",
                                 "fmt",
                                 "hiredis",
                                 "librdkafka",
                                 "mariadb-connector-c",
                                 "prometheus-cpp",
                                 "sqlite",
                                 "xxhash",
                                 "yaml-cpp",
                                 "zlib",
                                 "zstd"}) {
    EXPECT_THAT(text, ContainsRegex("\n" + name + ": [0-9]+\\.[0-9]+")) << name;
  }
  for (const char* const name : {"build", "sanitizers", "compiler"}) {
    EXPECT_THAT(text, ContainsRegex(std::string("\n") + name + ": [a-zA-Z]")) << name;
  }
}

}  // namespace
}  // namespace cuckooguard::cli
