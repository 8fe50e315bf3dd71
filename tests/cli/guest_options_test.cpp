// The subcommands that guests add.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/parsed_command.h"
#include "filter_tool/commands.h"
#include "triggers/print_triggers.h"

namespace cuckooguard::cli {
namespace {

TEST(GuestOptions, a_filter_file_can_be_inspected_and_queried) {
  int exit_code = -1;
  const auto inspect = parse({"filter", "inspect", "users.filter"}, exit_code);
  ASSERT_TRUE(inspect);
  EXPECT_EQ(inspect->as<InspectFilter>()->path, "users.filter");
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
  EXPECT_EQ(query->as<QueryFilter>()->path, "users.filter");
  EXPECT_EQ(query->as<QueryFilter>()->secret_path, "secret");
  EXPECT_EQ(query->as<QueryFilter>()->key_template, "user:{id}");
  EXPECT_EQ(query->as<QueryFilter>()->keys, (std::vector<std::string>{"user:1", "user:2"}));
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
  const ForeignFile& file = foreign->as<QueryFilter>()->foreign;
  EXPECT_EQ(file.format, "guava-bitmap");
  EXPECT_EQ(file.bits, 80U);
  EXPECT_EQ(file.hashes, 7U);
  EXPECT_EQ(file.strategy, "murmur128_mitz_64");
  EXPECT_EQ(file.funnel, "long");
  EXPECT_FALSE(parse({"filter", "inspect", "f", "--format", "gozero"}, exit_code));
}

TEST(GuestOptions, filters_of_other_libraries_can_be_made_filled_and_moved) {
  int exit_code = -1;
  const auto create = parse(
      {"filter", "create", "f", "--format", "redisson", "--capacity", "5000", "--rate", "0.01"},
      exit_code);
  ASSERT_TRUE(create);
  EXPECT_EQ(create->as<CreateFilter>()->path, "f");
  EXPECT_EQ(create->as<CreateFilter>()->foreign.format, "redisson");
  EXPECT_EQ(create->as<CreateFilter>()->wanted.capacity, 5000U);
  EXPECT_EQ(create->as<CreateFilter>()->wanted.rate, 0.01);
  const auto add = parse({"filter", "add", "f", "--format", "guava", "a", "b"}, exit_code);
  ASSERT_TRUE(add);
  EXPECT_EQ(add->as<AddToFilter>()->items, (std::vector<std::string>{"a", "b"}));
  const auto lines = parse({"filter", "add", "f", "--format", "guava", "-"}, exit_code);
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->as<AddToFilter>()->items, std::vector<std::string>{"-"});
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
  const auto& [path, force, foreign, redis] = *import->as<ImportFilter>();
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
  EXPECT_EQ(out->as<ExportFilter>()->redis.key, "k");
}

TEST(GuestOptions, the_triggers_of_a_configuration_can_be_printed) {
  int exit_code = -1;
  const auto triggers =
      parse({"triggers", "--config", "guard.yaml", "--source", "shop"}, exit_code);
  ASSERT_TRUE(triggers);
  EXPECT_EQ(triggers->as<PrintTriggers>()->from.config_path, "guard.yaml");
  EXPECT_EQ(triggers->as<PrintTriggers>()->from.name, "shop");
}

}  // namespace
}  // namespace cuckooguard::cli
