// What packaging/ has for Prometheus and Grafana asks for nothing that a running guard does not
// tell.

#include <map>
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

// What the dashboard does not show, and why.
const std::map<std::string, std::string> kNotShown{
    {"cuckooguard_absent_pattern", "GUARD.TOP tells it with the clients and keys"},
    {"cuckooguard_application_filter_named_memory_bytes", "what all take together has a limit"},
    {"cuckooguard_application_filters_unsure", "GUARD.INFO and the status page say which"},
    {"cuckooguard_commands_answered_total", "cuckooguard_keys_total tells it by verdict"},
    {"cuckooguard_config_last_reload_timestamp_seconds",
     "when does not matter, that it failed does"},
    {"cuckooguard_contradicted_keys_total", "cuckooguard_contradictions_total tells them by cause"},
    {"cuckooguard_contradictions_dropped_total", "those that were asked about tell the same"},
    {"cuckooguard_expiring_keys_total", "what expires together matters, which is shown"},
    {"cuckooguard_filter_full", "cuckooguard_filter_state has it"},
    {"cuckooguard_filter_tables", "changes with the database's tables only"},
    {"cuckooguard_log_dropped_lines_total", "an alert says so, and so does the log"},
    {"cuckooguard_moved_clients_total", "moves are rare, and disturb nobody"},
    {"cuckooguard_namespace_proof_age_seconds", "that of its source is shown"},
    {"cuckooguard_replaced_keys_total",
     "a reply of Redis's less, as cuckooguard_keys_total has others"},
    {"cuckooguard_sampled_keys_total", "verified keys and contradictions are what comes of them"},
    {"cuckooguard_unverified_keys_total", "verified keys and contradictions are what counts"},
    {"process_virtual_memory_bytes", "says nothing about the memory that is in use"}};

// What this guard, of SQLite or MariaDB and one Redis, does not export, and why. That a guard in
// front of a cluster has what is said of nodes: integration/nodes_seen_test.cpp
constexpr const char* kOfNodes = "of a cluster alone";
constexpr const char* kOfFleet = "of a fleet alone";
constexpr const char* kOfBreakdown = "of a namespace with breakdown alone";
constexpr const char* kOfFilterLog = "of filters that are kept in Redis alone";
const std::map<std::string, std::string> kNotExported{
    {"cuckooguard_application_filter_log_rereads_total", kOfFilterLog},
    {"cuckooguard_application_filter_log_skipped_entries_total", kOfFilterLog},
    {"cuckooguard_application_filter_log_unsaved_entries", kOfFilterLog},
    {"cuckooguard_application_filter_log_waiting_changes", kOfFilterLog},
    {"cuckooguard_breakdown_held_clients", kOfBreakdown},
    {"cuckooguard_breakdown_leases_ended_total", kOfBreakdown},
    {"cuckooguard_breakdown_loads", kOfBreakdown},
    {"cuckooguard_breakdown_misses_not_held_total", kOfBreakdown},
    {"cuckooguard_breakdown_misses_released_total", kOfBreakdown},
    {"cuckooguard_breakdown_usual_load_seconds", kOfBreakdown},
    {"cuckooguard_breakdown_wait_seconds_bucket", kOfBreakdown},
    {"cuckooguard_breakdown_would_be_spared_total", kOfBreakdown},
    {"cuckooguard_certificate_remaining_seconds", "it has no certificate"},
    {"cuckooguard_expiring_keys_max_in_seconds", "no key of it is to expire"},
    {"cuckooguard_fleet_followers", kOfFleet},
    {"cuckooguard_fleet_followers_behind", kOfFleet},
    {"cuckooguard_fleet_publishes", kOfFleet},
    {"cuckooguard_node_role", kOfNodes},
    {"cuckooguard_node_round_trip_seconds", kOfNodes},
    {"cuckooguard_node_slots", kOfNodes},
    {"cuckooguard_node_up", kOfNodes},
    {"cuckooguard_nodes_told_age_seconds", kOfNodes},
    {"cuckooguard_nodes_without_port", kOfNodes},
    {"cuckooguard_source_log_retained_bytes", "only a PostgreSQL keeps its log for a guard"}};

constexpr const char* kFilters = "filters: { named: { seen: {} } }\n";

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
  Shop shop({.more = std::string(kAdmin) + kFilters});
  shop.wait_until_it_answers();
  const std::string exported = "\n" + AdminClient(shop.guard()).get("/metrics").body;
  std::string text = read_whole_file(GetParam());
  text = std::regex_replace(text, std::regex(R"(\\")"), "\"");  // as JSON has it
  const auto names = matches(text, std::regex(R"(\b(cuckooguard|process)_[a-z_]+\b)"));
  EXPECT_GT(names.size(), 8U);
  for (const std::string& name : names) {
    const bool is_exported =
        exported.contains("\n" + name + "{") || exported.contains("\n" + name + " ");
    EXPECT_NE(is_exported, kNotExported.contains(name)) << name;
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

TEST(DashboardOfAllMetrics, shows_each_or_it_is_said_why_not) {
  Shop shop({.more = std::string(kAdmin) + kFilters});
  shop.wait_until_it_answers();
  const std::string text = read_whole_file(kDashboard);
  const std::regex type("# TYPE ([a-z_]+) ");
  const std::string exported = AdminClient(shop.guard()).get("/metrics").body;
  int count = 0;
  for (std::sregex_iterator at(exported.begin(), exported.end(), type);
       at != std::sregex_iterator();
       ++at) {
    const std::string name = at->str(1);
    const bool is_shown = std::regex_search(text, std::regex("\\b" + name + "(_bucket)?\\b"));
    EXPECT_NE(is_shown, kNotShown.contains(name)) << name;
    ++count;
  }
  EXPECT_GT(count, 40);
}

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
