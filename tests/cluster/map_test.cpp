#include "cluster/map.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

View parsed(std::string_view text, bool is_ok = true, std::string_view asked = "10.0.0.9") {
  auto view = parse_nodes(text, asked);
  EXPECT_TRUE(view) << (view ? "" : view.error());
  view->is_ok = is_ok;
  return view.value_or(View{});
}

std::string refusal(std::string_view text) {
  const auto view = parse_nodes(text, "10.0.0.9");
  return view ? "accepted" : view.error();
}

TEST(Nodes, are_read_with_all_that_is_said_of_them) {
  const View view = parsed(
      "aa 127.0.0.1:30004@31004,one.example slave bb 0 1426238317239 4 connected\n"
      "bb 127.0.0.1:30001@31001,one.example,shard-id=x,tls-port=30101 myself,master - 0 0 7 "
      "connected 0-5460 5500 [77->-cc] [93-<-cc]\n"
      "cc ::1:30002@31002 master,fail - 142 0 2 disconnected 5461\n"
      "dd 2001:db8::1:30003@31003,,shard-id=y master,fail?,nofailover - 0 0 3 connected\n"
      "ee :0@0 master,fail,noaddr - 1 2 1 disconnected\n"
      "ff 127.0.0.1:30006@31006 handshake - 0 0 0 disconnected\n"
      "gg 127.0.0.1:30007 master - 0 0 8 connected\n");
  ASSERT_EQ(view.nodes.size(), 6);
  EXPECT_EQ(view.myself, 1);
  const Node& replica = view.nodes[0];
  EXPECT_EQ(replica.host, "127.0.0.1");
  EXPECT_EQ(replica.port, 30004);
  EXPECT_EQ(replica.tls_port, 0);
  EXPECT_EQ(replica.hostname, "one.example");
  EXPECT_FALSE(replica.is_master);
  EXPECT_EQ(replica.master_id, "bb");
  const Node& myself = view.nodes[1];
  EXPECT_TRUE(myself.is_master && myself.is_reachable && !myself.is_failing);
  EXPECT_EQ(myself.master_id, "");
  EXPECT_EQ(myself.config_epoch, 7);
  EXPECT_EQ(myself.tls_port, 30101);
  EXPECT_THAT(myself.slots, ElementsAre(SlotRange{0, 5460}, SlotRange{5500, 5500}));
  EXPECT_THAT(myself.moving, ElementsAre(77, 93));
  EXPECT_EQ(view.nodes[2].host, "::1");
  EXPECT_EQ(view.nodes[2].port, 30002);
  EXPECT_TRUE(view.nodes[2].is_failing && view.nodes[2].is_reachable);
  EXPECT_EQ(view.nodes[3].host, "2001:db8::1");
  EXPECT_EQ(view.nodes[3].hostname, "");
  EXPECT_FALSE(view.nodes[3].is_failing) << "one node suspects it";
  EXPECT_FALSE(view.nodes[4].is_reachable);
  EXPECT_EQ(view.nodes[5].port, 30007) << "before Redis 4 without a bus port";
}

TEST(Nodes, that_have_met_nobody_are_where_they_were_asked) {
  const View view = parsed("aa :7000@17000 myself,master - 0 0 0 connected\n");
  EXPECT_EQ(view.nodes[0].host, "10.0.0.9");
  EXPECT_TRUE(view.nodes[0].is_reachable);
  EXPECT_EQ(parsed("aa ::1:7000@17000 myself,master - 0 0 0 connected").nodes[0].host, "::1");
}

TEST(Nodes, that_cannot_be_read_are_refused_with_their_line) {
  const std::string good = "aa 127.0.0.1:1@2 myself,master - 0 0 1 connected\n";
  for (const std::string bad : {
           "bb",
           "bb 127.0.0.1 master - 0 0 1 connected",
           "bb 127.0.0.1:x@1 master - 0 0 1 connected",
           "bb 127.0.0.1:65536@1 master - 0 0 1 connected",
           "bb 127.0.0.1:1@y master - 0 0 1 connected",
           "bb 127.0.0.1:1@1 master - 0 0 1",
           "bb 127.0.0.1:1@1 master - 0 0 one connected",
           "bb 127.0.0.1:1@1 master - 0 0 1 connected 16384",
           "bb 127.0.0.1:1@1 master - 0 0 1 connected 7-6",
           "bb 127.0.0.1:1@1 master - 0 0 1 connected 1-99999",
           "bb 127.0.0.1:1@1 master - 0 0 1 connected [7]",
           "bb 127.0.0.1:1@1 master - 0 0 1 connected [7-x-cc]",
       }) {
    EXPECT_THAT(refusal(good + bad), HasSubstr("line 2 ")) << bad;
  }
  EXPECT_THAT(refusal("bb 127.0.0.1:1@2 master - 0 0 1 connected\n"), HasSubstr("myself"));
  EXPECT_THAT(refusal(""), HasSubstr("myself"));
}

TEST(Nodes, have_limits) {
  std::string text = "aa 127.0.0.1:1@2 myself,master - 0 0 1 connected\n";
  for (std::size_t i = 1; i < kNodesMax; ++i) {
    text += "n" + std::to_string(i) + " 127.0.0.1:1@2 master - 0 0 1 connected\n";
  }
  EXPECT_EQ(parsed(text).nodes.size(), kNodesMax);
  EXPECT_THAT(refusal(text + "zz 127.0.0.1:1@2 master - 0 0 1 connected\n"), HasSubstr("1000"));
  EXPECT_THAT(refusal(std::string(kNodesBytesMax + 1, '\n')), HasSubstr("bytes"));
}

TEST(State, is_ok_if_the_node_says_so) {
  EXPECT_TRUE(is_state_ok("cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_ok:1\r\n"));
  EXPECT_FALSE(is_state_ok("cluster_state:fail\r\ncluster_slots_ok:1\r\n"));
  EXPECT_FALSE(is_state_ok("x_cluster_state:ok\r\n"));
  EXPECT_FALSE(is_state_ok(""));
}

std::string owner(const Map& map, std::uint16_t slot) {
  const Node* const node = map.owner_of(slot);
  return node != nullptr ? node->id : "";
}

constexpr std::string_view kBefore =
    "aa 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-99\n"
    "bb 10.0.0.2:1@2 master - 0 0 2 connected 100-199\n";
constexpr std::string_view kAfterFailover =
    "aa 10.0.0.1:1@2 master,fail - 0 0 1 connected\n"
    "bb 10.0.0.2:1@2 myself,master - 0 0 3 connected 0-199\n";

TEST(Maps, take_the_owner_with_the_highest_epoch) {
  const std::array views{parsed(kBefore), parsed(kAfterFailover)};
  const Map map = merge(views);
  EXPECT_EQ(owner(map, 0), "bb");
  EXPECT_EQ(owner(map, 199), "bb");
  EXPECT_EQ(owner(map, 200), "");
  EXPECT_EQ(owner(map, 16384), "");
  EXPECT_FALSE(map.is_moving(0));
  ASSERT_EQ(map.nodes().size(), 2);
  EXPECT_TRUE(map.nodes()[0].slots.empty());
  EXPECT_THAT(map.nodes()[1].slots, ElementsAre(SlotRange{0, 199}));
  EXPECT_TRUE(map.find("aa")->is_failing);
  const std::array turned{views[1], views[0]};
  EXPECT_EQ(merge(turned), map) << "whoever is asked first";
}

TEST(Maps, do_not_believe_who_is_cut_off) {
  const std::array views{parsed(kBefore), parsed(kAfterFailover, false)};
  const Map map = merge(views);
  EXPECT_EQ(owner(map, 0), "aa");
  EXPECT_FALSE(map.find("aa")->is_failing);
  EXPECT_EQ(map.find("bb")->config_epoch, 2) << "of a view that is believed";
  const std::array none{parsed(kBefore, false)};
  EXPECT_EQ(owner(merge(none), 0), "") << "nobody is";
  EXPECT_EQ(merge(none).nodes().size(), 2) << "its nodes are there all the same";
}

// Redis learns its own new address from others alone (cluster.c, nodeUpdateAddressIfNeeded).
TEST(Maps, take_a_nodes_address_of_the_newest_epoch_and_of_these_not_its_own) {
  const std::array views{
      parsed("aa 10.0.0.1:1@2 master - 0 0 1 connected\nbb 10.0.0.2:1@2 myself,master - 0 0 2 "
             "connected\n"),
      parsed("aa 10.0.0.7:7@8 myself,master - 0 0 1 connected\nbb 10.0.0.8:1@2 master - 0 0 3 "
             "connected\n")};
  const Map map = merge(views);
  EXPECT_EQ(map.find("aa")->host, "10.0.0.1");
  EXPECT_EQ(map.find("aa")->port, 1);
  EXPECT_EQ(map.find("bb")->host, "10.0.0.8");
  EXPECT_EQ(map.find("cc"), nullptr);
}

TEST(Maps, know_what_is_moving_or_disputed) {
  const std::array views{
      parsed("aa h:1@2 myself,master - 0 0 1 connected 0-9 [5->-bb]\nbb h:2@3 master - 0 0 1 "
             "connected 10-19\n"),
      parsed("aa h:1@2 master - 0 0 1 connected 0-8\nbb h:2@3 myself,master - 0 0 1 connected 9-19 "
             "[15000-<-aa]\n",
             false),
      parsed("bb h:2@3 myself,master - 0 0 1 connected 8-19\n")};
  const Map map = merge(views);
  EXPECT_TRUE(map.is_moving(5));
  EXPECT_TRUE(map.is_moving(15000)) << "whether it is ok or not";
  EXPECT_TRUE(map.is_moving(8)) << "two claim it with one epoch";
  EXPECT_FALSE(map.is_moving(7));
  EXPECT_FALSE(map.is_moving(10));
  EXPECT_THAT(map.find("aa")->moving, ElementsAre(5));
  EXPECT_FALSE(Map().is_moving(0));
  EXPECT_EQ(Map().owner_of(0), nullptr);
}

TEST(Strangers, are_those_of_whom_no_other_view_tells) {
  const auto ids = [](const std::vector<View>& views) {
    std::vector<std::string> all;
    for (const View& view : without_strangers(views)) {
      all.push_back(view.nodes[*view.myself].id);
    }
    return all;
  };
  const std::string a = "aa h:1@2 master - 0 0 1 connected\n";
  const std::string b = "bb h:2@3 master - 0 0 1 connected\n";
  const std::string x = "xx h:3@4 master - 0 0 1 connected\n";
  const auto seen_by = [](const std::string& self, const std::string& others, bool is_ok = true) {
    std::string text = self;
    text.replace(text.find("master"), 6, "myself,master");
    return parsed(text + others, is_ok);
  };
  EXPECT_THAT(ids({seen_by(a, b), seen_by(x, a + b), seen_by(b, a)}), ElementsAre("aa", "bb"))
      << "it was forgotten";
  EXPECT_THAT(ids({seen_by(a, b + x), seen_by(x, ""), seen_by(b, a)}),
              ElementsAre("aa", "xx", "bb"))
      << "one has heard of it";
  EXPECT_THAT(ids({seen_by(x, "", false), seen_by(a, b)}), ElementsAre("aa"));
  EXPECT_THAT(ids({seen_by(a, b, false), seen_by(x, "", false)}), ElementsAre("aa", "xx"))
      << "of those who are not ok nobody knows";
  EXPECT_THAT(ids({seen_by(a, ""), seen_by(x, "")}), ElementsAre("aa", "xx")) << "all of them are";
  EXPECT_THAT(ids({seen_by(x, "")}), ElementsAre("xx"));
}

TEST(Maps, have_limits) {
  std::vector<View> views(3);
  for (std::size_t i = 0; i < 3 * kNodesMax / 2; ++i) {
    Node node;
    node.id = "n" + std::to_string(10'000 + i);
    node.slots = {{static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(i)}};
    views[i % 3].is_ok = true;
    views[i % 3].nodes.push_back(node);
  }
  const Map map = merge(views);
  EXPECT_EQ(map.nodes().size(), kNodesMax);
  EXPECT_EQ(owner(map, 999), "n10999");
  EXPECT_EQ(owner(map, 1000), "");
}

}  // namespace
}  // namespace cuckooguard::cluster
