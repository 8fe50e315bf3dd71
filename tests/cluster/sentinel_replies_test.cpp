// What real Sentinels, and those that they watch, reply and publish (record_sentinel.py): the
// addresses are the guard's, and all else is as it was. What is expected is made by replacing text.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/topology_reply.h"
#include "made_replies.h"
#include "recording.h"

namespace cuckooguard::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Values;

constexpr std::string_view kTold = "guard.example.org";
constexpr std::uint16_t kSentinels = 7200;

// The node on port 700N has its listener on 710N, but for `without`; all Sentinels have one.
Addresses addresses(std::uint16_t without = 0) {
  Addresses made;
  for (const std::uint16_t port : std::array<std::uint16_t, 3>{7001, 7002, 7003}) {
    const std::string id = "127.0.0.1:" + std::to_string(port);
    made.add(made_node(id, "127.0.0.1", port),
             static_cast<std::uint16_t>(port == without ? 0 : port + 100));
  }
  for (const std::uint16_t port : std::array<std::uint16_t, 3>{7011, 7012, 7013}) {
    made.add(made_node("127.0.0.1:" + std::to_string(port), "127.0.0.1", port), kSentinels);
  }
  return made;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Strings that are an address, or a part of one.
std::string expected_values(std::string reply) {
  const std::string told(kTold);
  for (const std::string node : {"1", "2", "3"}) {
    reply = replaced(reply, bulk("127.0.0.1:700" + node), bulk(told + ":710" + node));
    reply = replaced(reply, bulk("700" + node), bulk("710" + node));
    reply = replaced(reply, ":700" + node + "\r\n", ":710" + node + "\r\n");
    reply = replaced(reply, bulk("701" + node), bulk("7200"));
  }
  return replaced(reply, bulk("127.0.0.1"), bulk(kTold));
}

// Of a string alone, addresses within its text.
std::string expected_text(const std::string& reply) {
  std::string text(text_of(reply));
  const std::string told(kTold);
  for (const std::string node : {"1", "2", "3"}) {
    for (const std::string between : {":", ",port=", "\r\nmaster_port:", " "}) {
      text = replaced(text, "127.0.0.1" + between + "700" + node, told + between + "710" + node);
      text = replaced(text, "127.0.0.1" + between + "701" + node, told + between + "7200");
    }
  }
  const std::string verbatim = reply.starts_with('=') ? "txt:" : "";
  text = verbatim + text;
  return reply.substr(0, 1) + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::vector<std::string> replies_in(const std::string& name) {
  const std::string bytes = harness::read_whole_file(std::string(RECORDED_DIRECTORY) + "/" + name);
  std::vector<std::string> replies;
  resp::ReplyFramer framer;
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto piece = framer.next(rest);
    EXPECT_TRUE(piece.ends);
    replies.emplace_back(rest.substr(0, piece.bytes));
    rest.remove_prefix(piece.bytes);
  }
  return replies;
}

class SentinelReplies : public ::testing::TestWithParam<std::string> {
 protected:
  enum Recorded : std::uint8_t {
    master_address,
    master,
    masters,
    replicas,
    sentinels,
    info,
    role,
    info_of_master,
    role_of_master,
    info_of_replica,
    role_of_replica,
  };

  void expect(TopologyReply kind, Recorded which, std::size_t nodes) const {
    const std::string& reply = replies_.at(which);
    const bool is_text = kind == TopologyReply::info;
    const Rewritten done = rewrite(kind, reply, addresses_, client_);
    EXPECT_EQ(done.reply, is_text ? expected_text(reply) : expected_values(reply));
    EXPECT_EQ(done.replaced, nodes);
    EXPECT_EQ(done.unknown, 0);
    EXPECT_FALSE(done.is_malformed);
    EXPECT_THAT(done.reply, Not(HasSubstr("127.0.0.1")));
    EXPECT_EQ(rewrite(kind, done.reply, addresses_, client_).reply, done.reply);
    const Rewritten left = rewrite(kind, reply, Addresses(), client_);
    EXPECT_EQ(left.reply, reply);
    EXPECT_EQ(left.unknown, nodes);
    for (std::size_t bytes = 0; bytes < reply.size(); ++bytes) {
      const std::string cut = reply.substr(0, bytes);
      ASSERT_EQ(rewrite(kind, cut, addresses_, client_).reply, cut);
    }
  }

  std::vector<std::string> replies_ = replies_in("sentinel_" + GetParam());
  Addresses addresses_ = addresses();
  ClientView client_{.host = kTold, .master = 7100};
};

INSTANTIATE_TEST_SUITE_P(, SentinelReplies, Values("resp2", "resp3"), [](const auto& made) {
  return made.param;
});

TEST_P(SentinelReplies, have_our_addresses_and_are_else_as_they_were) {
  expect(TopologyReply::master_address, master_address, 1);
  expect(TopologyReply::instance, master, 1);
  expect(TopologyReply::instances, masters, 1);
  expect(TopologyReply::instances, replicas, 4);  // each, and its master
  expect(TopologyReply::instances, sentinels, 2);
  expect(TopologyReply::info, info, 1);
  EXPECT_EQ(rewrite(TopologyReply::role, replies_.at(role), addresses_, client_).reply,
            replies_.at(role));
}

TEST_P(SentinelReplies, of_nodes_tell_of_the_others_by_our_addresses) {
  expect(TopologyReply::info, info_of_master, 2);
  expect(TopologyReply::role, role_of_master, 2);
  expect(TopologyReply::info, info_of_replica, 1);
  expect(TopologyReply::role, role_of_replica, 1);
}

TEST_P(SentinelReplies, a_master_without_a_port_has_that_of_any_master) {
  const Addresses without = addresses(7001);
  const auto told = [&](TopologyReply kind, Recorded which) {
    return rewrite(kind, replies_.at(which), without, client_);
  };
  EXPECT_EQ(told(TopologyReply::master_address, master_address).reply,
            "*2\r\n" + bulk(kTold) + bulk("7100"));
  EXPECT_THAT(told(TopologyReply::instance, master).reply, HasSubstr(bulk("port") + bulk("7100")));
  EXPECT_THAT(told(TopologyReply::instances, replicas).reply,
              HasSubstr(bulk("master-port") + bulk("7100")));
  EXPECT_THAT(told(TopologyReply::info, info).reply,
              HasSubstr("address=" + std::string(kTold) + ":7100,"));
  EXPECT_THAT(told(TopologyReply::info, info_of_replica).reply,
              HasSubstr("master_host:" + std::string(kTold) + "\r\nmaster_port:7100\r\n"));
  EXPECT_THAT(told(TopologyReply::role, role_of_replica).reply,
              HasSubstr(bulk(kTold) + ":7100\r\n"));
}

TEST_P(SentinelReplies, a_replica_without_a_port_is_told_as_it_is_and_counted) {
  const Addresses without = addresses(7002);
  const Rewritten done = rewrite(TopologyReply::instances, replies_.at(replicas), without, client_);
  EXPECT_EQ(done.direct, 1);
  EXPECT_THAT(done.reply, HasSubstr(bulk("name") + bulk("127.0.0.1:7002")));
  EXPECT_THAT(done.reply, HasSubstr(bulk("name") + bulk(std::string(kTold) + ":7103")));
}

class SentinelMessages : public ::testing::Test {
 protected:
  static std::string frame(std::string_view channel, std::string_view text) {
    return array(bulk("message"), bulk(channel), bulk(text));
  }
  static std::string told(std::string_view channel,
                          std::string_view text,
                          const Addresses& known = addresses()) {
    const ClientView client{.host = "guard", .master = 7100};
    return rewrite(TopologyReply::message, frame(channel, text), known, client).reply;
  }
};

TEST_F(SentinelMessages, of_a_failover_have_our_addresses) {
  const std::vector<std::string> frames = replies_in("sentinel_messages");
  ASSERT_GT(frames.size(), 15);
  const ClientView client{.host = kTold, .master = 7100};
  std::size_t replaced_ones = 0;
  for (const std::string& before : frames) {
    for (const std::string& frame : {before, '>' + before.substr(1)}) {
      const Rewritten done = rewrite(TopologyReply::message, frame, addresses(), client);
      EXPECT_FALSE(done.is_malformed) << frame;
      EXPECT_THAT(done.reply, Not(HasSubstr("127.0.0.1"))) << frame;
      EXPECT_EQ(done.reply == frame, !frame.contains("127.0.0.1")) << frame;
      resp::ReplyFramer framer;
      EXPECT_EQ(framer.next(done.reply).bytes, done.reply.size()) << done.reply;
      replaced_ones += done.replaced > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(replaced_ones, 20);
}

TEST_F(SentinelMessages, have_addresses_at_their_places_and_nothing_else_is_taken_for_one) {
  EXPECT_EQ(told("+switch-master", "shop 127.0.0.1 7001 127.0.0.1 7002"),
            frame("+switch-master", "shop guard 7101 guard 7102"));
  EXPECT_EQ(told("+slave", "slave 127.0.0.1:7002 127.0.0.1 7002 @ shop 127.0.0.1 7001"),
            frame("+slave", "slave guard:7102 guard 7102 @ shop guard 7101"));
  EXPECT_EQ(told("-role-change",
                 "slave 127.0.0.1:7003 127.0.0.1 7003 @ shop 127.0.0.1 7001 new reported role is "
                 "master"),
            frame("-role-change",
                  "slave guard:7103 guard 7103 @ shop guard 7101 new reported role is master"));
  EXPECT_EQ(told("+sentinel", "sentinel id 127.0.0.1 7012 @ shop 127.0.0.1 7001"),
            frame("+sentinel", "sentinel id guard 7200 @ shop guard 7101"));
  EXPECT_EQ(told("+monitor", "master shop 127.0.0.1 7001 quorum 2"),
            frame("+monitor", "master shop guard 7101 quorum 2"));
  for (const std::string_view same : {"#tilt mode entered",
                                      "1",
                                      "",
                                      " ",
                                      "slave",
                                      "@ shop",
                                      "master shop 10.0.0.1 7001",
                                      "a  b "}) {
    EXPECT_EQ(told("+any", same), frame("+any", same));
  }
}

TEST_F(SentinelMessages, a_switch_names_the_port_of_any_master_where_nodes_have_none) {
  Addresses without;
  for (const std::uint16_t port : std::array<std::uint16_t, 2>{7001, 7002}) {
    without.add(made_node(std::to_string(port), "127.0.0.1", port), 0);
  }
  EXPECT_EQ(told("+switch-master", "shop 127.0.0.1 7001 127.0.0.1 7002", without),
            frame("+switch-master", "shop guard 7100 guard 7100"));
}

TEST_F(SentinelMessages, that_are_confirmations_stay) {
  const std::string confirmation = array(bulk("subscribe"), bulk("127.0.0.1 7001"), ":1\r\n");
  EXPECT_EQ(rewrite(TopologyReply::message, confirmation, addresses(), {.host = "guard"}).reply,
            confirmation);
  EXPECT_EQ(rewrite(TopologyReply::message, array(bulk("pong"), bulk("")), addresses(), {}).reply,
            array(bulk("pong"), bulk("")));
}

TEST(SentinelReply, is_of_few_commands) {
  using Arguments = std::vector<std::string_view>;
  EXPECT_EQ(topology_reply(Arguments{"sentinel", "Get-Master-Addr-By-Name", "shop"}),
            TopologyReply::master_address);
  EXPECT_EQ(topology_reply(Arguments{"SENTINEL", "MASTER", "shop"}), TopologyReply::instance);
  for (const std::string_view list : {"masters", "REPLICAS", "slaves", "Sentinels"}) {
    EXPECT_EQ(topology_reply(Arguments{"SENTINEL", list, "shop"}), TopologyReply::instances);
  }
  EXPECT_EQ(topology_reply(Arguments{"role"}), TopologyReply::role);
  EXPECT_EQ(topology_reply(Arguments{"INFO", "replication"}), TopologyReply::info);
  EXPECT_EQ(topology_reply(Arguments{"SENTINEL"}), TopologyReply::none);
  EXPECT_EQ(topology_reply(Arguments{"SENTINEL", "myid"}), TopologyReply::none);
}

}  // namespace
}  // namespace cuckooguard::cluster
