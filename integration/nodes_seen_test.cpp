// What operators see of a cluster behind the guard: each node, who took whose place, and what needs
// them; and that a cluster which was stopped as a whole is served again.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/admin_client.h"
#include "harness/configuration.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

namespace json = boost::json;

class NodesSeen : public testing::Test {
 protected:
  NodesSeen() : database_(directory_ / "shop.db", Journal::wal) { database_.insert_users(1, 10); }

  void start(std::size_t ports) {
    guard_.emplace(GuardProcess::on_node_ports(
        Configuration{.upstream = "{ cluster: [ '" + cluster_.address(1) +
                                  "' ], mode: " + upstream_mode() + " }",
                      .source = sqlite_source(directory_ / "shop.db", ", max_lag: 10m"),
                      .more = std::string(kAdmin)}
            .yaml(),
        ports));
    admin_.emplace(*guard_);
  }

  // Of a whole sample name, labels included; -1: it is not there.
  double value(const std::string& sample) const {
    const std::string all = "\n" + admin_->get("/metrics").body;
    const std::size_t at = all.find("\n" + sample + " ");
    return at == std::string::npos ? -1 : std::stod(all.substr(at + sample.size() + 2));
  }
  json::object status() const { return json::parse(admin_->get("/status").body).as_object(); }
  // As the status has it; empty: it is not there.
  json::object node(std::size_t i) const {
    const json::object all = status();
    for (const json::value& each : all.at("nodes").at("all").as_array()) {
      if (each.at("address").as_string() == cluster_.address(i)) {
        return each.as_object();
      }
    }
    return {};
  }
  std::vector<std::string> problems() const {
    std::vector<std::string> what;
    const json::object all = status();
    for (const json::value& each : all.at("problems").as_array()) {
      what.emplace_back(each.at("what").as_string());
    }
    return what;
  }
  // By node, as the guard shows it; 0: none.
  std::vector<std::uint16_t> ports() const {
    std::vector<std::uint16_t> all;
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const json::object seen = node(i);
      all.push_back(seen.empty() || seen.at("port").is_null()
                        ? std::uint16_t{0}
                        : json::value_to<std::uint16_t>(seen.at("port")));
    }
    return all;
  }
  bool are_all_up() const {
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const json::object seen = node(i);
      if (seen.empty() || seen.at("state") != "up" || seen.at("latency").is_null()) {
        return false;
      }
    }
    return true;
  }

  // At how many of these ports it is replied to so, and not sent on.
  static std::size_t count_served(std::initializer_list<std::string_view> command,
                                  const std::vector<std::uint16_t>& ports,
                                  std::string_view reply) {
    return static_cast<std::size_t>(std::ranges::count_if(ports, [&](std::uint16_t port) {
      return RawClient::to_port(port).call(command) == reply;
    }));
  }

  TemporaryDirectory directory_;
  Database database_;
  RedisCluster cluster_;
  std::optional<GuardProcess> guard_;
  std::optional<AdminClient> admin_;
};

TEST_F(NodesSeen, each_is_shown_everywhere_and_so_is_who_takes_its_place) {
  start(8);
  ASSERT_TRUE(eventually([this] { return are_all_up(); })) << guard_->log();
  std::int64_t slots = 0;
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    const json::object seen = node(i);
    const std::string role = i < 3 ? "master" : "replica";
    const std::string port = std::to_string(seen.at("port").to_number<int>());
    EXPECT_EQ(seen.at("role").as_string(), role);
    EXPECT_GT(seen.at("latency").as_double(), 0.0);
    EXPECT_LT(seen.at("latency").as_double(), 5.0);
    slots += seen.at("slots").to_number<std::int64_t>();
    const std::string labels = "{node=\"" + cluster_.address(i) + "\",port=\"" + port + "\"";
    EXPECT_EQ(value("cuckooguard_node_up" + labels + "}"), 1);
    EXPECT_EQ(value("cuckooguard_node_role" + labels + ",role=\"" + role + "\"}"), 1);
    EXPECT_EQ(value("cuckooguard_node_slots" + labels + "}"), seen.at("slots").to_number<double>());
    EXPECT_GT(value("cuckooguard_node_round_trip_seconds" + labels + "}"), 0);
    EXPECT_THAT(guard_->call({"GUARD.INFO"}),
                HasSubstr(":port=" + port + ",role=" + role + ",slots="));
  }
  EXPECT_EQ(slots, 16384);
  EXPECT_EQ(value("cuckooguard_nodes_without_port"), 0);
  EXPECT_LT(value("cuckooguard_nodes_told_age_seconds"), 10);
  EXPECT_TRUE(problems().empty());
  const std::string dashboard = read_whole_file(CUCKOOGUARD_PACKAGING "/grafana/dashboard.json");
  for (const char* const name : {"node_up",
                                 "node_role",
                                 "node_slots",
                                 "node_round_trip_seconds",
                                 "nodes_without_port",
                                 "nodes_told_age_seconds"}) {
    EXPECT_THAT(dashboard, HasSubstr(std::string("cuckooguard_") + name + "{")) << name;
  }

  const json::value slots_of_first = json::value(node(0).at("slots"));
  cluster_.kill(0);
  EXPECT_TRUE(eventually([&] {
    return node(0).at("role") == "failing" && node(0).at("state") == "down" &&
           node(3).at("role") == "master" && node(3).at("slots") == slots_of_first;
  })) << guard_->log();
  EXPECT_EQ(node(0).at("slots"), 0);
  EXPECT_TRUE(node(0).at("latency").is_null());
  EXPECT_THAT(guard_->log(),
              HasSubstr("warning event=failover from=" + cluster_.address(0) +
                        " to=" + cluster_.address(3) +
                        " slots=" + std::to_string(slots_of_first.to_number<int>()) + "\n"));
  EXPECT_EQ(count_in(guard_->log(), "event=failover"), 1U);
  EXPECT_THAT(problems(), testing::ElementsAre("Unreachable Redis nodes: " + cluster_.address(0)));
}

TEST_F(NodesSeen, those_without_a_port_are_counted_and_shown_as_such) {
  start(4);
  ASSERT_TRUE(eventually([this] { return value("cuckooguard_nodes_without_port") == 2; }));
  EXPECT_THAT(problems(), testing::Contains("2 nodes have no port on the guard"));
  EXPECT_EQ(std::ranges::count(ports(), 0), 2);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NE(ports()[i], 0) << "masters come first";
  }
  EXPECT_THAT(guard_->log(), HasSubstr("event=cluster_nodes_without_port nodes=2"));
}

TEST_F(NodesSeen, slots_that_go_to_another_master_are_told) {
  start(8);
  ASSERT_TRUE(eventually([this] { return are_all_up(); })) << guard_->log();
  for (const std::size_t i : {1, 0}) {
    ASSERT_EQ(cluster_.call(i, {"CLUSTER", "SETSLOT", "7", "NODE", cluster_.id(1)}), kOk);
  }
  ASSERT_EQ(cluster_.call(1, {"CLUSTER", "BUMPEPOCH"}).substr(0, 7), "+BUMPED");
  EXPECT_TRUE(eventually([&] {
    return guard_->log().contains("info event=slots_moved from=" + cluster_.address(0) +
                                  " to=" + cluster_.address(1) + " slots=1\n");
  })) << guard_->log();
}

TEST_F(NodesSeen, a_cluster_that_was_stopped_as_a_whole_is_silent_and_then_served_as_before) {
  start(8);
  ASSERT_TRUE(eventually([this] { return are_all_up(); })) << guard_->log();
  const std::vector<std::uint16_t> before = ports();
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    cluster_.kill(i);
  }
  EXPECT_TRUE(eventually([this] {
    return count_in(guard_->log(), "event=cluster_silent why=") == 1 &&
           value("cuckooguard_upstream_up") == 0 && value("cuckooguard_nodes_told_age_seconds") > 1;
  })) << guard_->log();
  EXPECT_THAT(problems(), testing::Contains("No node reports the topology of Redis"));
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    cluster_.start_again(i);
  }
  cluster_.wait_until_ok();
  ASSERT_TRUE(eventually([this] { return are_all_up() && problems().empty(); })) << guard_->log();
  EXPECT_EQ(ports(), before);
  // A write and an absent key, each where its slot is.
  EXPECT_EQ(count_served({"SET", user(1), "x"}, before, kOk), 1);
  const std::string absent = user(kAbsent);
  EXPECT_TRUE(
      eventually([&] { return count_served({"GET", absent}, before, absent_reply()) == 1; }));
  EXPECT_THAT(guard_->log(), Not(HasSubstr("event=failover")));
}

}  // namespace
}  // namespace cuckooguard::harness
