#include "views/metrics.h"

#include <atomic>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"
#include "guard/contradictions.h"
#include "guard/guarded_shop.h"
#include "guard/told_nodes.h"
#include "guard/told_sources.h"
#include "views/check.h"

namespace cuckooguard::views {
namespace {

using guard::GuardedShop;
using guard::seconds;
using testing::HasSubstr;
using testing::Not;

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    shop_.process.version = "1.2.3";
    shop_.process.sources = &sources_;
    shop_.process.guards = {shop_.guard.get(), &other_};
    for (int ns = 0; ns < 4; ++ns) {
      shop_.process.origins.push_back({.source = "shop", .max_lag = seconds(1)});
    }
    process_state_.clients.emplace_back([] { return std::size_t{3}; });
    process_state_.refused_clients = [] { return std::uint64_t{5}; };
    process_state_.dropped_log_lines = [] { return std::uint64_t{7}; };
    process_state_.certificates = [] {
      const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
      return std::vector<Certificate>{
          {.file = "/old.crt", .expires_at = now - std::chrono::hours(1)},
          {.file = "/new.crt", .expires_at = now + std::chrono::hours(1)}};
    };
  }

  std::string text() {
    return metrics_text({.guarded = shop_.guard->parts(),
                         .process = shop_.process,
                         .redis = shop_.guard->facts(),
                         .process_state = process_state_,
                         .now = shop_.now});
  }
  // The value of a whole sample name, labels included; "" if it is not there.
  std::string value(const std::string& sample) {
    const std::string all = "\n" + text();
    const std::size_t at = all.find("\n" + sample + " ");
    if (at == std::string::npos) {
      return "";
    }
    const std::size_t begin = at + sample.size() + 2;
    return all.substr(begin, all.find('\n', begin) - begin);
  }

  GuardedShop shop_;
  guard::Guard other_{shop_.guard->parts()};
  guard::ToldSources sources_{
      {{.name = "shop",
        .status = {.type = "mysql",
                   .state = filter::SourceState::following,
                   .position = "0-1-75",
                   .proven_at = shop_.now - std::chrono::milliseconds(250),
                   .losses = 3}},
       {.name = "ids", .status = {.type = "file", .state = filter::SourceState::down}}}};
  ProcessState process_state_;
  Check check_{*shop_.guard};
};

TEST_F(MetricsTest, what_all_workers_have_counted_is_added_up) {
  shop_.decide({"GET", "user:500"});
  shop_.decide({"GET", "user:1"});
  shop_.write({"SET", "item:new", "x"});
  shop_.decide({"GET", "other"});
  guard::Client client;
  const std::initializer_list<std::string_view> get{"GET", "user:501"};
  other_.decide(other_.ask(std::span(get.begin(), get.size()), client, shop_.now), 1000);
  EXPECT_EQ(value("cuckooguard_keys_total{namespace=\"users\",verdict=\"absent\"}"), "2");
  EXPECT_EQ(value("cuckooguard_keys_total{namespace=\"users\",verdict=\"may_exist\"}"), "1");
  EXPECT_EQ(value("cuckooguard_keys_total{namespace=\"items\",verdict=\"absent\"}"), "0");
  EXPECT_EQ(value("cuckooguard_commands_answered_total"), "2");
  EXPECT_EQ(value("cuckooguard_learned_keys_total{namespace=\"items\"}"), "1");
  EXPECT_EQ(value("cuckooguard_unguarded_keys_total"), "1");
}

TEST_F(MetricsTest, an_attack_is_told_by_namespace_and_keys_by_each_verdict) {
  guard::AttackWatch& attack = shop_.spaces[GuardedShop::kItems].counts->attack;
  attack.look(shop_.now - seconds(10), 0, 0);
  attack.look(shop_.now, 1000, 0);
  EXPECT_EQ(value("cuckooguard_attack{namespace=\"items\"}"), "1");
  EXPECT_EQ(value("cuckooguard_attack{namespace=\"users\"}"), "0");
  for (const std::string verdict : {"unproven", "tolerated"}) {
    EXPECT_EQ(value("cuckooguard_keys_total{namespace=\"users\",verdict=\"" + verdict + "\"}"),
              "0");
  }
}

TEST_F(MetricsTest, reads_that_nobody_looked_at_are_told_by_reason) {
  shop_.may_answer = false;
  shop_.decide({"GET", "user:500"});
  EXPECT_EQ(value("cuckooguard_unchecked_reads_total{reason=\"no_room\"}"), "1");
  EXPECT_EQ(value("cuckooguard_unchecked_reads_total{reason=\"unsettled\"}"), "0");
}

TEST_F(MetricsTest, how_long_forwarded_reads_took_is_a_histogram_of_all_workers) {
  shop_.guard->note_reply_time(std::chrono::microseconds(150));
  other_.note_reply_time(std::chrono::microseconds(200));
  other_.note_reply_time(std::chrono::seconds(60));
  const std::string name = "cuckooguard_command_duration_seconds";
  EXPECT_EQ(value(name + "_bucket{le=\"0.0001\"}"), "0");
  EXPECT_EQ(value(name + "_bucket{le=\"0.0002\"}"), "2") << "a bound is its bucket's";
  EXPECT_EQ(value(name + "_bucket{le=\"10\"}"), "2");
  EXPECT_EQ(value(name + "_bucket{le=\"+Inf\"}"), "3");
  EXPECT_EQ(value(name + "_count"), "3");
  EXPECT_EQ(value(name + "_sum"), "60.00035");
}

TEST_F(MetricsTest, filters_that_applications_fill_are_told_together_and_by_configured_names) {
  EXPECT_THAT(text(), Not(HasSubstr("cuckooguard_application_")));
  config::FilledFilters settings = guard::FilledShop::settings();
  settings.named.push_back({.name = "a\"b", .capacity = 1000});
  guard::FilledShop filled(shop_, settings);
  for (const std::string key : {"seen", "bf:of_a_client"}) {
    filled.filters.apply({.kind = filled::Operation::Kind::add_if_new,
                          .filter = key,
                          .missing = filled::Operation::Missing::is_made,
                          .hashes = {filled.filters.hash("a"), filled.filters.hash("b")}});
  }
  const std::string name = "cuckooguard_application_filter";
  EXPECT_EQ(value(name + "s"), "2");
  EXPECT_EQ(value(name + "s_max"), "1000");
  EXPECT_EQ(value(name + "_items"), "4");
  EXPECT_EQ(value(name + "_memory_bytes"), std::to_string(filled.filters.totals().bytes));
  EXPECT_EQ(value(name + "s_ready"), "1");
  EXPECT_EQ(value(name + "_changes_total{outcome=\"no_room\"}"), "0");
  EXPECT_EQ(value(name + "_named_items{filter=\"seen\"}"), "2");
  EXPECT_EQ(value(name + "_named_items{filter=\"ids\"}"), "0");
  EXPECT_EQ(value(name + "_named_items{filter=\"a\\\"b\"}"), "0");
  EXPECT_THAT(text(), Not(HasSubstr("of_a_client")));
  EXPECT_EQ(value(name + "_log_waiting_changes"), "");
  filled.store.current = false;
  filled.store.told_log = {.seq = 70, .skipped = 1, .rereads = 2, .snapshot_seq = 60, .waiting = 3};
  EXPECT_EQ(value(name + "s_ready"), "0");
  EXPECT_EQ(value(name + "_log_waiting_changes"), "3");
  EXPECT_EQ(value(name + "_log_unsaved_entries"), "10");
  EXPECT_EQ(value(name + "_log_skipped_entries_total"), "1");
  EXPECT_EQ(value(name + "_log_rereads_total"), "2");
  EXPECT_EQ(value(name + "_snapshot_age_seconds"), "");
  filled.store.told_log->snapshot_at = shop_.now - seconds(4);
  EXPECT_EQ(value(name + "_snapshot_age_seconds"), "4");
}

TEST_F(MetricsTest, a_load_that_goes_on_and_none) {
  EXPECT_EQ(value("cuckooguard_load_progress_ratio{namespace=\"users\"}"), "1");
  process_state_.loads.put("users", {.rows_expected = 10, .fraction = 0.25}, shop_.now);
  EXPECT_EQ(value("cuckooguard_load_progress_ratio{namespace=\"users\"}"), "0.25");
  EXPECT_EQ(value("cuckooguard_load_progress_ratio{namespace=\"items\"}"), "1");
}

TEST_F(MetricsTest, checks_by_http_are_counted_apart) {
  const std::string id = "500";
  check_.ask(GuardedShop::kUsers, std::span(&id, 1), shop_.now);
  EXPECT_EQ(value("cuckooguard_http_checks_total{namespace=\"users\",verdict=\"absent\"}"), "1");
  EXPECT_EQ(value("cuckooguard_keys_total{namespace=\"users\",verdict=\"absent\"}"), "0");
}

TEST_F(MetricsTest, filters_and_how_old_their_proof_is) {
  filter::LiveFilter& users = *shop_.filters[GuardedShop::kUsers];
  users.set_state(filter::State::ready);
  users.set_fresh_until(shop_.now + std::chrono::milliseconds(750));
  EXPECT_EQ(value("cuckooguard_filter_items{namespace=\"users\"}"), "100");
  EXPECT_EQ(value("cuckooguard_filter_tables{namespace=\"users\"}"), "1");
  EXPECT_EQ(value("cuckooguard_filter_state{namespace=\"users\",state=\"ready\"}"), "1");
  EXPECT_EQ(value("cuckooguard_filter_state{namespace=\"users\",state=\"full\"}"), "0");
  EXPECT_EQ(value("cuckooguard_filter_full{namespace=\"users\"}"), "0");
  EXPECT_EQ(value("cuckooguard_namespace_fresh{namespace=\"users\"}"), "1");
  EXPECT_EQ(value("cuckooguard_namespace_proof_age_seconds{namespace=\"users\"}"), "0.25");
  EXPECT_EQ(value("cuckooguard_namespace_mode{namespace=\"users\",mode=\"enforce\"}"), "1");
  EXPECT_EQ(value("cuckooguard_namespace_mode{namespace=\"users\",mode=\"observe\"}"), "0");
  EXPECT_EQ(value("cuckooguard_namespace_passing_seconds{namespace=\"users\"}"), "0");
  shop_.overlays[GuardedShop::kUsers]->hold_all_until(shop_.now + seconds(40));
  EXPECT_EQ(value("cuckooguard_namespace_passing_seconds{namespace=\"users\"}").substr(0, 2), "40");
  users.set_fresh_until(guard::TimePoint::min());
  EXPECT_EQ(value("cuckooguard_namespace_fresh{namespace=\"users\"}"), "0");
  EXPECT_EQ(value("cuckooguard_namespace_proof_age_seconds{namespace=\"users\"}"), "")
      << "what is not known is left out";
}

TEST_F(MetricsTest, how_long_certificates_are_good_for) {
  EXPECT_NEAR(
      std::stod(value("cuckooguard_certificate_remaining_seconds{file=\"/new.crt\"}")), 3600, 60);
  EXPECT_NEAR(
      std::stod(value("cuckooguard_certificate_remaining_seconds{file=\"/old.crt\"}")), -3600, 60);
}

TEST_F(MetricsTest, sources_clients_and_redis) {
  EXPECT_EQ(value("cuckooguard_source_state{source=\"shop\",state=\"following\"}"), "1");
  EXPECT_EQ(value("cuckooguard_source_state{source=\"ids\",state=\"down\"}"), "1");
  EXPECT_EQ(value("cuckooguard_source_proof_age_seconds{source=\"shop\"}"), "0.25");
  EXPECT_EQ(value("cuckooguard_source_proof_age_seconds{source=\"ids\"}"), "");
  EXPECT_EQ(value("cuckooguard_source_losses_total{source=\"shop\"}"), "3");
  process_state_.loads.count_trouble("shop");
  EXPECT_EQ(value("cuckooguard_source_troubles_total{source=\"shop\"}"), "1");
  EXPECT_EQ(value("cuckooguard_source_troubles_total{source=\"ids\"}"), "0");
  EXPECT_EQ(value("cuckooguard_clients{worker=\"0\"}"), "3");
  EXPECT_EQ(value("cuckooguard_refused_clients_total"), "5");
  EXPECT_EQ(value("cuckooguard_log_dropped_lines_total"), "7");
  EXPECT_EQ(value("cuckooguard_upstream_up"), "0");
  process_state_.redis = guard::NodeState::up;
  EXPECT_EQ(value("cuckooguard_upstream_up"), "1");
  EXPECT_EQ(value("cuckooguard_control_state{state=\"not_allowed\"}"), "0");
  shop_.facts.report({.state = redis::ControlReport::State::not_allowed});
  EXPECT_EQ(value("cuckooguard_control_state{state=\"not_allowed\"}"), "1");
  EXPECT_EQ(value("cuckooguard_control_state{state=\"allowed\"}"), "0");
  EXPECT_EQ(value("cuckooguard_build_info{version=\"1.2.3\"}"), "1");
  EXPECT_THAT(text(), Not(HasSubstr("0-1-75"))) << "a label that never has the same value twice";
}

TEST_F(MetricsTest, each_node_of_a_cluster_and_the_worst_of_what_they_let_the_guard_ask) {
  EXPECT_THAT(text(), Not(HasSubstr("cuckooguard_node")));
  process_state_.redis = guard::NodeState::up;
  guard::ToldNodes nodes(
      {.shown = {{.address = "10.0.0.1:6379",
                  .port = 7000,
                  .role = guard::NodeRole::replica,
                  .slots = 5461,
                  .state = guard::NodeState::up,
                  .round_trip = std::chrono::milliseconds(2),
                  .control = {.state = redis::ControlReport::State::allowed}},
                 {.address = "10.0.0.2:6379",
                  .port = 7001,
                  .state = guard::NodeState::down,
                  .control = {.state = redis::ControlReport::State::not_allowed}},
                 {.address = "10.0.0.3:6379"}},
       .without_port = 1,
       .told_at = shop_.now - seconds(40)});
  shop_.process.nodes = &nodes;
  const std::string first = "{node=\"10.0.0.1:6379\",port=\"7000\"";
  const std::string last = "{node=\"10.0.0.3:6379\",port=\"none\"";
  EXPECT_EQ(value("cuckooguard_node_up" + first + "}"), "1");
  EXPECT_EQ(value("cuckooguard_node_up{node=\"10.0.0.2:6379\",port=\"7001\"}"), "0");
  EXPECT_EQ(value("cuckooguard_node_up" + last + "}"), "") << "it was not tried";
  EXPECT_EQ(value("cuckooguard_node_role" + first + ",role=\"replica\"}"), "1");
  EXPECT_EQ(value("cuckooguard_node_role" + first + ",role=\"master\"}"), "0");
  EXPECT_EQ(value("cuckooguard_node_role" + last + ",role=\"unknown\"}"), "1");
  EXPECT_EQ(value("cuckooguard_node_slots" + first + "}"), "5461");
  EXPECT_EQ(value("cuckooguard_node_round_trip_seconds" + first + "}"), "0.002");
  EXPECT_EQ(value("cuckooguard_node_round_trip_seconds" + last + "}"), "");
  EXPECT_EQ(value("cuckooguard_nodes_without_port"), "1");
  EXPECT_EQ(value("cuckooguard_nodes_told_age_seconds"), "40");
  EXPECT_EQ(value("cuckooguard_control_state{state=\"not_allowed\"}"), "1");
  EXPECT_EQ(value("cuckooguard_control_state{state=\"allowed\"}"), "0");
}

TEST_F(MetricsTest, keys_that_redis_has_although_they_are_absent_are_told_by_their_cause) {
  EXPECT_EQ(value("cuckooguard_contradictions_total{namespace=\"users\",cause=\"hidden_row\"}"), "")
      << "nobody looks into them";
  guard::Contradictions contradictions(4);
  shop_.process.contradictions = &contradictions;
  contradictions.add(GuardedShop::kUsers, "user:500");
  contradictions.add(GuardedShop::kUsers, "user:501");
  contradictions.next();
  contradictions.found(GuardedShop::kUsers, guard::Cause::hidden_row);
  EXPECT_EQ(value("cuckooguard_contradictions_total{namespace=\"users\",cause=\"hidden_row\"}"),
            "1");
  EXPECT_EQ(value("cuckooguard_contradictions_total{namespace=\"users\",cause=\"late_row\"}"), "0");
  EXPECT_EQ(value("cuckooguard_contradictions_open{namespace=\"users\"}"), "1");
  EXPECT_EQ(value("cuckooguard_contradictions_dropped_total{namespace=\"users\"}"), "0");
}

// For tsan, and for numbers that only grow.
TEST_F(MetricsTest, are_read_while_a_worker_counts_and_a_source_writes) {
  std::atomic<bool> is_over{false};
  const guard::TimePoint now = shop_.now;
  std::thread worker([&] {
    guard::Client client;
    const std::initializer_list<std::string_view> get{"GET", "user:501"};
    while (!is_over) {
      other_.decide(other_.ask(std::span(get.begin(), get.size()), client, now), 1000);
    }
  });
  std::thread source([&, users = shop_.filters[GuardedShop::kUsers]] {
    while (!is_over) {
      users->insert(shop_.parts[GuardedShop::kUsers]->hash("700"));
      users->set_fresh_until(now + seconds(1));
      users->set_state(filter::State::ready);
    }
  });
  double last = 0;
  for (int i = 0; i < 50; ++i) {
    const double keys =
        std::stod(value("cuckooguard_keys_total{namespace=\"users\",verdict=\"absent\"}"));
    EXPECT_GE(keys, last);
    last = keys;
  }
  is_over = true;
  worker.join();
  source.join();
}

// What promtool checks, and more: it is not installed everywhere.
TEST_F(MetricsTest, every_family_is_there_once_with_help_and_type_and_a_name_by_the_rules) {
  std::istringstream lines(text());
  std::map<std::string, std::string> types;
  std::set<std::string> samples;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    std::string third;
    words >> first >> second >> third;
    if (first == "#") {
      EXPECT_FALSE(third.empty()) << line;
      EXPECT_FALSE(second == "TYPE" && !types.emplace(third, line).second) << third << " twice";
      family = third;
      continue;
    }
    const std::string name = first.substr(0, first.find('{'));
    EXPECT_TRUE(name == family || types[family].ends_with(" histogram")) << name;
    EXPECT_TRUE(name.starts_with("cuckooguard_") || name.starts_with("process_")) << name;
    EXPECT_EQ(types[family].ends_with(" counter"), name.ends_with("_total")) << name;
    EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line << " twice";
  }
  EXPECT_GE(types.size(), 25U);
}

}  // namespace
}  // namespace cuckooguard::views
