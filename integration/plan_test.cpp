// `cuckooguard --plan`: what the filters of real databases will take, asked without a guard.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/guard_process.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

Ended plan_of(const TemporaryDirectory& directory, const std::string& yaml) {
  const std::filesystem::path file = directory / "plan.yaml";
  write_whole_file(file, yaml);
  return run_guard({"--config", file.string(), "--plan"});
}

TEST(Plan, counts_rows_and_sizes_filters_as_the_guard_does) {
  const TemporaryDirectory directory;
  Shop shop({.overlay = "{ max_keys: 64k, pass_at_start: false }"});
  shop.wait_until_it_answers();
  const Ended ended = plan_of(directory, shop.yaml());
  EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_EQ(ended.standard_error, "");
  EXPECT_THAT(ended.standard_output, ContainsRegex("\nusers +user +1,000 "));
  EXPECT_THAT(ended.standard_output, ContainsRegex("\ntags +tag "));
  EXPECT_THAT(ended.standard_output, HasSubstr("\nall "));
}

TEST(Plan, says_what_it_cannot_reach_and_prints_the_rest) {
  const TemporaryDirectory directory;
  const Shop shop;
  const Ended ended = plan_of(directory,
                              shop.yaml() +
                                  "  far:\n"
                                  "    keys: \"far:{id}\"\n"
                                  "    source: { from: shop, table: faraway }\n");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.standard_output, ContainsRegex("\nusers +user +1,000 "));
  EXPECT_THAT(ended.standard_error, HasSubstr("source shop, namespace far: "));
}

class PlanOfMariaDb : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED NOT NULL PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_5000");
    run("ANALYZE TABLE user");
  }
};

TEST_F(PlanOfMariaDb, asks_the_server_for_its_estimate) {
  const std::string namespaces = Guarded().yaml();
  const Ended ended = plan_of(folder_, configuration(namespaces));
  EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_THAT(ended.standard_output, ContainsRegex("\nusers +user +~[45],[0-9]+ "));
  EXPECT_THAT(ended.standard_output, HasSubstr("estimate"));
  const Ended nobody = plan_of(
      folder_,
      Configuration{.source = mysql_source("\"unix:/nonexistent.sock\""), .namespaces = namespaces}
          .yaml());
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.standard_error, HasSubstr("unix:/nonexistent.sock: "));
}

// Before there is a guard: what is missing is told with the statement that mends it, and once.
TEST_F(PlanOfMariaDb, checks_what_a_start_checks) {
  const std::string namespaces =
      Guarded().yaml() + Guarded{.name = "guests", .keys = "guest:{id:uint64}"}.yaml();
  const std::string yaml = configuration(namespaces);
  EXPECT_THAT(plan_of(folder_, yaml).standard_output,
              HasSubstr("Source shop: grants, settings and tables were checked"));
  run("REVOKE REPLICATION SLAVE ON *.* FROM guard@localhost");
  const Ended log = plan_of(folder_, yaml);
  EXPECT_EQ(log.exit_code, 1);
  EXPECT_THAT(
      log.standard_error,
      HasSubstr("a grant is missing: GRANT REPLICATION SLAVE ON *.* TO 'guard'@'localhost'"));
  run("GRANT REPLICATION SLAVE ON *.* TO guard@localhost");
  run("REVOKE SELECT ON shop.* FROM guard@localhost");
  const std::string denied = plan_of(folder_, yaml).standard_error;
  const std::string grant = "GRANT SELECT ON `shop`.* TO 'guard'@'localhost'";
  EXPECT_THAT(denied, HasSubstr(grant));
  EXPECT_EQ(denied.find(grant), denied.rfind(grant)) << denied;
  const std::string nobody =
      plan_of(folder_, Configuration{.namespaces = namespaces}.yaml()).standard_error;
  EXPECT_THAT(nobody, HasSubstr("namespaces users, guests: 127.0.0.1:1: Can't connect"));
}

}  // namespace
}  // namespace cuckooguard::harness
