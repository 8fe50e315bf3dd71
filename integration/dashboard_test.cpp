// What packaging/ has for Prometheus and Grafana asks for nothing that a running guard does not
// tell.

#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/admin_client.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

constexpr const char* kDashboard = CUCKOOGUARD_PACKAGING "/grafana/dashboard.json";
constexpr const char* kAlertsTest = CUCKOOGUARD_PACKAGING "/prometheus/alerts_test.yaml";
constexpr const char* kAlerts = CUCKOOGUARD_PACKAGING "/prometheus/alerts.yaml";

std::set<std::string> matches(const std::string& text, const std::regex& wanted) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), wanted); at != std::sregex_iterator();
       ++at) {
    found.insert(at->str());
  }
  return found;
}

class Dashboard : public testing::TestWithParam<const char*> {};

TEST_P(Dashboard, names_only_metrics_and_labels_that_are_exported) {
  Shop shop({.more = "admin: { address: \"127.0.0.1:0\" }\n"});
  shop.wait_until_it_answers();
  const std::string exported = "\n" + AdminClient(shop.guard()).get("/metrics").body;
  std::string text = read_whole_file(GetParam());
  text = std::regex_replace(text, std::regex(R"(\\")"), "\"");  // as JSON has it
  const auto names = matches(text, std::regex(R"(\b(cuckooguard|process)_[a-z_]+\b)"));
  EXPECT_GT(names.size(), 8U);
  for (const std::string& name : names) {
    EXPECT_TRUE(exported.contains("\n" + name + "{") || exported.contains("\n" + name + " "))
        << name;
  }
  // NAME{...label="value"...}: there is such a sample, whatever else it has.
  for (const std::string& sample :
       matches(text, std::regex(R"(\b(cuckooguard|process)_[a-z_]+\{[^}]*\})"))) {
    const std::string name = sample.substr(0, sample.find('{'));
    for (const std::string& label : matches(sample, std::regex(R"([a-z_]+="[^"$]+")"))) {
      std::string wanted = "\n" + name;
      wanted += "\\{[^}]*";
      wanted += label;
      EXPECT_TRUE(std::regex_search(exported, std::regex(wanted))) << name << " with " << label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Packaged,
                         Dashboard,
                         testing::Values(kDashboard, kAlerts),
                         [](const auto& each) {
                           return std::string(each.index == 0 ? "dashboard" : "alerts");
                         });

TEST(Alerts, are_rules_that_promtool_finds_no_fault_with_and_go_off_when_they_should) {
  SKIP_IF_MISSING(missing_program("promtool", "prometheus"));
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"check", kAlerts}, {"test", kAlertsTest}}) {
    const Ended ended = run_program({"promtool", how[0], "rules", how[1]});
    EXPECT_EQ(ended.exit_code, 0) << ended.standard_output << ended.standard_error;
    EXPECT_THAT(ended.standard_output, testing::HasSubstr("SUCCESS"));
  }
}

}  // namespace
}  // namespace cuckooguard::harness
