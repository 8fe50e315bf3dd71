#include <array>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log/written_log.h"
#include "topology/nodes.h"

namespace cuckooguard::topology {
namespace {

using guard::NodeRole;
using guard::NodeState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr io::TimePoint kStart{std::chrono::hours(1)};
constexpr std::array<NodeBoard::Port, 3> kPorts{{{0, 7000}, {1, 7001}, {2, 7002}}};

std::string line(std::string_view id, std::string_view host, std::string_view rest) {
  return std::string(id) + " " + std::string(host) + ":6379@16379 " + std::string(rest) + "\n";
}
cluster::Map map_of(const std::string& text) {
  auto view = cluster::parse_nodes(text, "");
  if (!view) {
    throw std::runtime_error(view.error());
  }
  view->is_ok = true;
  return cluster::merge({&*view, 1});
}

const std::string kMaster = line("a", "10.0.0.1", "myself,master - 0 0 1 connected 0-99 200");
const std::string kReplica = line("b", "10.0.0.2", "slave a 0 0 1 connected");
const std::string kOther = line("c", "10.0.0.3", "master - 0 0 2 connected 100-199");

class NodeBoardTest : public testing::Test {
 protected:
  void show(const cluster::Map& map, io::TimePoint now = kStart) {
    table_.follow(map, now);
    board_.show(map, table_, {.of_nodes = kPorts, .without = table_.unplaced()});
  }
  std::string told(const std::string& text, io::TimePoint now = kStart) {
    board_.follow(map_of(text), now);
    return log_.take();
  }

  log::WrittenLog log_;
  NodeTable table_{kPorts.size()};
  guard::NodeStatus heard_;  // of endpoint 1
  NodeBoard board_{[this](std::size_t endpoint, guard::NodeStatus& node) {
                     if (endpoint == 1) {
                       node.state = heard_.state;
                       node.round_trip = heard_.round_trip;
                       node.control = heard_.control;
                     }
                   },
                   log_.log};
};

TEST_F(NodeBoardTest, shows_each_node_with_its_port_its_role_and_what_its_connection_says) {
  heard_ = {.state = NodeState::up,
            .round_trip = milliseconds(3),
            .control = {.state = redis::ControlReport::State::limited}};
  show(map_of(kMaster + kReplica + line("c", "10.0.0.3", "master,fail - 0 0 2 connected")));
  const std::vector<guard::NodeStatus> nodes = board_.nodes().shown;
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[0].address, "10.0.0.1:6379");
  EXPECT_EQ(nodes[0].port, 7000);
  EXPECT_EQ(nodes[0].role, NodeRole::master);
  EXPECT_EQ(nodes[0].slots, 101U);
  EXPECT_EQ(nodes[0].state, NodeState::never);
  EXPECT_EQ(nodes[1].address, "10.0.0.3:6379") << "masters have the first ports";
  EXPECT_EQ(nodes[1].role, NodeRole::failing);
  EXPECT_EQ(nodes[1].state, NodeState::up);
  EXPECT_EQ(nodes[1].round_trip, milliseconds(3));
  EXPECT_EQ(nodes[2].role, NodeRole::replica);
  EXPECT_EQ(board_.nodes().control(), redis::ControlReport::State::limited);
  EXPECT_EQ(board_.nodes().without_port, 0U);
}

TEST_F(NodeBoardTest, a_node_that_is_listed_no_more_is_shown_while_it_has_its_port) {
  show(map_of(kMaster + kOther));
  show(map_of(kMaster));
  const std::vector<guard::NodeStatus> nodes = board_.nodes().shown;
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[1].role, NodeRole::unknown);
  EXPECT_EQ(nodes[1].slots, 0U);
  EXPECT_EQ(nodes[1].port, 7001);
}

TEST_F(NodeBoardTest, nodes_without_a_port_come_last_and_no_two_are_named_alike) {
  std::string text = kMaster + kReplica + kOther;
  for (const char* const id : {"d", "e"}) {  // one is gone, and another has its address
    text += line(id, "10.0.0.4", "slave a 0 0 1 connected");
  }
  show(map_of(text));
  guard::NodesStatus status = board_.nodes();
  ASSERT_THAT(status.shown, SizeIs(4));
  EXPECT_EQ(status.shown[3].address, "10.0.0.4:6379");
  EXPECT_EQ(status.shown[3].port, 0);
  EXPECT_EQ(status.without_port, 2U);
  for (int i = 0; i < 100; ++i) {
    text += line("x" + std::to_string(i), "10.0.1." + std::to_string(i), "slave a 0 0 1 connected");
  }
  show(map_of(text));
  EXPECT_THAT(board_.nodes().shown, SizeIs(guard::NodeView::kShownMax));
  EXPECT_EQ(board_.nodes().without_port, 102U);
}

TEST_F(NodeBoardTest, a_master_without_one_of_its_own_has_the_port_of_any_master) {
  heard_ = {.state = NodeState::up};
  board_.show(map_of(kReplica + kMaster),
              NodeTable(0),
              {.of_nodes = {},
               .master = config::Address{.host = "10.0.0.1", .port = 6379, .unix_path = {}},
               .of_master = {{.endpoint = 1, .port = 6380}}});
  const std::vector<guard::NodeStatus> nodes = board_.nodes().shown;
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].port, 6380);
  EXPECT_EQ(nodes[0].state, NodeState::up);
  EXPECT_EQ(nodes[1].port, 0);
  EXPECT_EQ(nodes[1].state, NodeState::never);
}

TEST_F(NodeBoardTest, what_a_cluster_calls_its_nodes_breaks_no_line) {
  show(map_of(line("a", "x\"\x1b\xff", "myself,master - 0 0 1 connected")));
  EXPECT_EQ(board_.nodes().shown.at(0).address.find_first_of("\x1b\xff"), std::string::npos);
}

TEST_F(NodeBoardTest, is_silent_until_it_hears_again) {
  const auto before = board_.nodes().told_at;
  board_.be_silent("connection refused");
  EXPECT_EQ(board_.nodes().why_silent, "connection refused");
  EXPECT_EQ(board_.nodes().told_at, before);
  board_.be_heard();
  EXPECT_EQ(board_.nodes().why_silent, "");
  EXPECT_GE(board_.nodes().told_at, before);
}

TEST_F(NodeBoardTest, a_failover_is_told_once_and_at_once) {
  EXPECT_THAT(told(kMaster + kReplica + kOther), IsEmpty()) << "the first is no change";
  EXPECT_THAT(told(kMaster + kReplica + kOther), IsEmpty());
  const std::string after = line("a", "10.0.0.1", "master,fail - 0 0 1 connected") +
                            line("b", "10.0.0.2", "master - 0 0 3 connected 0-99 200") +
                            line("c", "10.0.0.3", "myself,master - 0 0 2 connected 100-199");
  EXPECT_EQ(told(after, kStart + seconds(1)),
            "warning event=failover from=10.0.0.1:6379 to=10.0.0.2:6379 slots=101;");
  EXPECT_THAT(told(after, kStart + seconds(2)), IsEmpty());
}

// As long as a cluster's state is not ok, nobody is known to have any slot.
TEST_F(NodeBoardTest, what_comes_of_a_cluster_that_was_down_for_a_while_is_told_when_it_is_back) {
  const auto down = [](const std::string& text) {
    auto view = cluster::parse_nodes(text, "");
    return cluster::merge({&view.value(), 1});
  };
  board_.follow(down(kMaster + kReplica), kStart);
  EXPECT_THAT(told(kMaster + kReplica), IsEmpty()) << "it begins";
  const std::string after = line("a", "10.0.0.1", "master,fail - 0 0 1 connected") +
                            line("b", "10.0.0.2", "myself,master - 0 0 3 connected 0-99 200");
  board_.follow(down(after), kStart + seconds(1));
  EXPECT_THAT(log_.take(), IsEmpty());
  EXPECT_EQ(told(after, kStart + seconds(2)),
            "warning event=failover from=10.0.0.1:6379 to=10.0.0.2:6379 slots=101;");
}

TEST_F(NodeBoardTest, slots_that_move_one_by_one_are_told_together) {
  told(kMaster + kOther);
  const auto at = [](int first) {
    return line("a",
                "10.0.0.1",
                "myself,master - 0 0 1 connected " + std::to_string(first) + "-99 200") +
           line("c",
                "10.0.0.3",
                "master - 0 0 2 connected 0-" + std::to_string(first - 1) + " 100-199");
  };
  EXPECT_EQ(told(at(1)), "info event=slots_moved from=10.0.0.1:6379 to=10.0.0.3:6379 slots=1;");
  for (int i = 2; i < 10; ++i) {
    EXPECT_THAT(told(at(i), kStart + seconds(i)), IsEmpty());
  }
  EXPECT_EQ(told(at(9), kStart + NodeBoard::kMovesEvery),
            "info event=slots_moved from=10.0.0.1:6379 to=10.0.0.3:6379 slots=8;");
}

}  // namespace
}  // namespace cuckooguard::topology
