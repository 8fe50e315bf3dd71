#include "cluster/topology_reply.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "made_replies.h"

namespace cuckooguard::cluster {
namespace {

using Arguments = std::vector<std::string_view>;

const std::string kNil = "$-1\r\n";
const std::string kNull = "_\r\n";

TEST(TopologyReply, is_of_few_commands) {
  EXPECT_EQ(topology_reply(Arguments{"CLUSTER", "SLOTS"}), TopologyReply::slots);
  EXPECT_EQ(topology_reply(Arguments{"cluster", "Shards"}), TopologyReply::shards);
  EXPECT_EQ(topology_reply(Arguments{"Cluster", "nodes", "more"}), TopologyReply::nodes);
  EXPECT_EQ(topology_reply(Arguments{"cluster", "replicas", "id"}), TopologyReply::replicas);
  EXPECT_EQ(topology_reply(Arguments{"cluster", "SLAVES"}), TopologyReply::replicas);
  for (const Arguments& other : {Arguments{},
                                 Arguments{"cluster"},
                                 Arguments{"cluster", "info"},
                                 Arguments{"cluster", "slot"},
                                 Arguments{"cluster", "slotsx"},
                                 Arguments{"xcluster", "slots"},
                                 Arguments{"get", "nodes"}}) {
    EXPECT_EQ(topology_reply(other), TopologyReply::none);
  }
}

class Rewriting : public ::testing::Test {
 protected:
  Rewritten rewritten(TopologyReply kind, std::string_view reply) const {
    return rewrite(kind, reply, addresses_, client_);
  }
  Rewritten redirected(std::string_view reply) const {
    return rewrite(TopologyReply::none, reply, addresses_, client_);
  }
  void expect_same(TopologyReply kind, const std::string& reply, bool is_malformed) const {
    const Rewritten same = rewritten(kind, reply);
    EXPECT_EQ(same.reply, reply);
    EXPECT_EQ(same.is_malformed, is_malformed) << reply;
    EXPECT_EQ(same.replaced + same.unknown + same.direct, 0) << reply;
  }
  // NODES of one line.
  std::string line(std::string_view before) const {
    const std::string reply = rewritten(TopologyReply::replicas, array(bulk(before))).reply;
    const std::size_t begin = reply.find('\n', reply.find('$')) + 1;
    EXPECT_EQ(reply, array(bulk(reply.substr(begin, reply.size() - begin - 2))));
    return reply.substr(begin, reply.size() - begin - 2);
  }

  Addresses addresses_ = made_addresses();
  ClientView client_ = made_client();
};

std::string slots_of(const std::string& node) {
  return array(array(integer(0), integer(99), node));
}

TEST_F(Rewriting, of_slots_leaves_open_what_is_open) {
  for (const std::string& host : {kNil, kNull, bulk("")}) {
    EXPECT_EQ(
        rewritten(TopologyReply::slots, slots_of(array(host, integer(7001), bulk("aa"), array())))
            .reply,
        slots_of(array(host, integer(7101), bulk("aa"), array())));
  }
  EXPECT_EQ(
      rewritten(TopologyReply::slots, slots_of(array(bulk("?"), integer(7001), bulk("aa")))).reply,
      slots_of(array(bulk("guard"), integer(7101), bulk("aa"))));
}

TEST_F(Rewriting, of_slots_goes_by_the_id_and_else_by_the_address) {
  const auto node_of = [](std::string_view host, int port, std::string_view id) {
    return slots_of(array(bulk(host), integer(port), bulk(id), array()));
  };
  const auto port_of = [&](const std::string& reply) {
    return rewritten(TopologyReply::slots, reply).reply;
  };
  EXPECT_EQ(port_of(node_of("10.0.0.2", 7002, "aa")), node_of("guard", 7101, "aa"));
  EXPECT_EQ(port_of(node_of("10.0.0.2", 7002, "xx")), node_of("guard", 7102, "xx"));
  EXPECT_EQ(port_of(slots_of(array(bulk("10.0.0.2"), integer(7002)))),
            slots_of(array(bulk("guard"), integer(7102))))
      << "before Redis 4 there was no id";
}

TEST_F(Rewriting, of_slots_asks_metadata_before_it_takes_an_open_host_for_this_nodes) {
  addresses_.add(made_node("dd", "10.0.0.1", 7002), 7104);
  const auto node_of = [](int port, std::string_view ip) {
    return slots_of(array(kNull, integer(port), bulk("xx"), map(bulk("ip"), bulk(ip))));
  };
  EXPECT_EQ(rewritten(TopologyReply::slots, node_of(7002, "10.0.0.2")).reply,
            node_of(7102, "guard"));
}

TEST_F(Rewriting, of_slots_replaces_no_more_than_addresses_in_metadata) {
  const auto metadata = [](std::string_view ip, std::string_view hostname) {
    return map(bulk("ip"),
               bulk(ip),
               bulk("availability-zone"),
               bulk("10.0.0.1"),
               bulk("hostname"),
               bulk(hostname),
               bulk("new"),
               array(bulk("ip"), bulk("10.0.0.1")));
  };
  const auto reply = [&](std::string_view host, int port, std::string_view name) {
    return slots_of(array(bulk(host), integer(port), bulk("bb"), metadata(host, name)));
  };
  const Rewritten done = rewritten(TopologyReply::slots, reply("10.0.0.2", 7002, "b.example"));
  EXPECT_EQ(done.reply, reply("guard", 7102, "guard"));
  EXPECT_EQ(done.replaced, 1);
}

TEST_F(Rewriting, counts_who_is_unknown_and_who_has_no_listener) {
  const std::string reply = array(array(integer(0),
                                        integer(9),
                                        array(bulk("10.0.0.1"), integer(7001), bulk("aa")),
                                        array(bulk("10.0.0.3"), integer(7003), bulk("cc")),
                                        array(bulk("10.0.0.4"), integer(7004), bulk("dd")),
                                        array(bulk("10.0.0.5"), integer(7005), bulk("ee"))));
  const Rewritten done = rewritten(TopologyReply::slots, reply);
  EXPECT_EQ(done.replaced, 1);
  EXPECT_EQ(done.direct, 1);
  EXPECT_EQ(done.unknown, 2);
  EXPECT_EQ(done.reply,
            array(array(integer(0),
                        integer(9),
                        array(bulk("guard"), integer(7101), bulk("aa")),
                        array(bulk("10.0.0.3"), integer(7003), bulk("cc")),
                        array(bulk("10.0.0.4"), integer(7004), bulk("dd")),
                        array(bulk("10.0.0.5"), integer(7005), bulk("ee")))));
}

std::string shards_of(const std::string& nodes) {
  return array(map(bulk("slots"), array(integer(0), integer(99)), bulk("nodes"), nodes));
}

TEST_F(Rewriting, of_shards_needs_no_order_of_fields) {
  const std::string before = map(bulk("endpoint"),
                                 kNull,
                                 bulk("tls-port"),
                                 integer(17001),
                                 bulk("ip"),
                                 bulk("10.0.0.1"),
                                 bulk("new"),
                                 array(bulk("port"), integer(1)),
                                 bulk("port"),
                                 integer(7001),
                                 bulk("id"),
                                 bulk("aa"));
  const auto after = [](std::string_view port) {
    return map(bulk("endpoint"),
               kNull,
               bulk(port),
               integer(7101),
               bulk("ip"),
               bulk("guard"),
               bulk("new"),
               array(bulk("port"), integer(1)),
               bulk("id"),
               bulk("aa"));
  };
  EXPECT_EQ(rewritten(TopologyReply::shards, shards_of(array(before))).reply,
            shards_of(array(after("port"))));
  client_.has_tls = true;
  EXPECT_EQ(rewritten(TopologyReply::shards, shards_of(array(before))).reply,
            shards_of(array(after("tls-port"))));
}

TEST_F(Rewriting, of_shards_leaves_who_has_no_port) {
  expect_same(TopologyReply::shards,
              shards_of(array(map(bulk("id"), bulk("aa"), bulk("ip"), bulk("")))),
              false);
}

constexpr std::string_view kRest = " master - 0 1795486040520 2 connected 0-99 [7->-bb]";

TEST_F(Rewriting, of_nodes_replaces_addresses_and_hostnames) {
  const std::string rest(kRest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@17001" + rest), "aa guard:7101@17001" + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001" + rest), "aa guard:7101" + rest);
  EXPECT_EQ(line("aa :7001@17001" + rest), "aa :7101@17001" + rest);
  EXPECT_EQ(line("aa fe80::1:7001@17001" + rest), "aa guard:7101@17001" + rest);
  EXPECT_EQ(line("xx 10.0.0.2:7002@1" + rest), "xx guard:7102@1" + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@1,a.example" + rest), "aa guard:7101@1,guard" + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@1,," + rest), "aa guard:7101@1," + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@1," + rest), "aa guard:7101@1," + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@1,,shard-id=x,tls-port=17001,nodename=y" + rest),
            "aa guard:7101@1,,shard-id=x,nodename=y" + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@1,a.example,tcp-port=7001" + rest),
            "aa guard:7101@1,guard" + rest);
  EXPECT_EQ(line("aa 10.0.0.1:7001@1,shard-id=x" + rest), "aa guard:7101@1,shard-id=x" + rest);
}

TEST_F(Rewriting, of_nodes_does_not_wait_for_who_will_never_be_known) {
  for (const std::string same : {"aa :0@0 master,noaddr - 0 0 1 disconnected",
                                 "xx 10.0.0.9:7009@1 handshake - 0 0 0 disconnected"}) {
    expect_same(TopologyReply::replicas, array(bulk(same)), false);
  }
  EXPECT_EQ(line("xx 10.0.0.2:7002@1 handshake - 0 0 0 disconnected"),
            "xx guard:7102@1 handshake - 0 0 0 disconnected");
}

TEST_F(Rewriting, of_nodes_leaves_the_lines_that_it_does_not_understand) {
  const std::string rest(kRest);
  const Rewritten done = rewritten(
      TopologyReply::nodes,
      bulk("aa 10.0.0.1:7001@1" + rest + "\nwhat is this\nbb 10.0.0.2:7002@1" + rest + "\n"));
  EXPECT_EQ(done.reply,
            bulk("aa guard:7101@1" + rest + "\nwhat is this\nbb guard:7102@1" + rest + "\n"));
  EXPECT_TRUE(done.is_malformed);
}

TEST_F(Rewriting, leaves_the_nodes_that_it_does_not_understand) {
  const std::string good = array(bulk("10.0.0.1"), integer(7001), bulk("aa"));
  for (const std::string& bad :
       {integer(1),
        array(bulk("10.0.0.2")),
        array(bulk("10.0.0.2"), bulk("7002"), bulk("bb")),
        array(integer(1), integer(7002), bulk("bb")),
        array(bulk("10.0.0.2"), integer(7002), bulk("bb"), array(bulk("ip"))),
        array(bulk("10.0.0.2"), integer(7002), bulk("bb"), array(integer(1), bulk("x")))}) {
    const auto reply = [&](const std::string& node) {
      return array(array(integer(0), integer(9), bad, node));
    };
    const Rewritten done = rewritten(TopologyReply::slots, reply(good));
    EXPECT_EQ(done.reply, reply(array(bulk("guard"), integer(7101), bulk("aa"))));
    EXPECT_TRUE(done.is_malformed);
    EXPECT_EQ(done.replaced, 1);
  }
}

TEST_F(Rewriting, leaves_errors_nulls_and_what_is_queued) {
  for (const auto kind : {TopologyReply::slots,
                          TopologyReply::shards,
                          TopologyReply::nodes,
                          TopologyReply::replicas}) {
    for (const std::string reply : {"-ERR This instance has cluster support disabled\r\n",
                                    "+QUEUED\r\n",
                                    "_\r\n",
                                    "!5\r\nERR x\r\n"}) {
      expect_same(kind, reply, false);
    }
    for (const std::string reply : {"",
                                    "*",
                                    "*1\r\n",
                                    ":1\r\n",
                                    "$3\r\nab",
                                    "*-2\r\n",
                                    "+OK",
                                    "+OK\r\n+OK\r\n",
                                    "|1\r\n+a\r\n+b\r\n*0\r\n",
                                    "*?\r\n.\r\n"}) {
      expect_same(kind, reply, true);
    }
  }
  expect_same(TopologyReply::nodes, "$-1\r\n", false);
  expect_same(TopologyReply::slots, "*-1\r\n", false);
  expect_same(TopologyReply::slots, "*0\r\n", false);
}

TEST_F(Rewriting, of_redirects_keeps_their_slot) {
  EXPECT_EQ(redirected("-MOVED 3999 10.0.0.2:7002\r\n").reply, "-MOVED 3999 guard:7102\r\n");
  EXPECT_EQ(redirected("-ASK 3999 10.0.0.2:7002\r\n").reply, "-ASK 3999 guard:7102\r\n");
  EXPECT_EQ(redirected("-MOVED 1 :7001\r\n").reply, "-MOVED 1 :7101\r\n");
  EXPECT_EQ(redirected("-MOVED 1 ?:7001\r\n").reply, "-MOVED 1 guard:7101\r\n");
  client_.host = "::1";
  EXPECT_EQ(redirected("-MOVED 1 10.0.0.1:7001\r\n").reply, "-MOVED 1 ::1:7101\r\n");
  addresses_.add(made_node("dd", "fe80::7", 7004), 7104);
  EXPECT_EQ(redirected("-MOVED 1 fe80::7:7004\r\n").reply, "-MOVED 1 ::1:7104\r\n");
  EXPECT_EQ(redirected("-MOVED 1 10.0.0.1:7001\r\n").replaced, 1);
}

TEST_F(Rewriting, of_redirects_leaves_what_is_none_and_counts_who_is_unknown) {
  for (const std::string reply : {"-ERR MOVED 1 10.0.0.1:7001\r\n",
                                  "-MOVED\r\n",
                                  "+MOVED\r\n",
                                  "-TRYAGAIN x\r\n",
                                  "$10\r\n-MOVED 1 2\r\n",
                                  "-ASKING 1 a:1\r\n"}) {
    expect_same(TopologyReply::none, reply, false);
  }
  for (const std::string reply : {"-MOVED 1\r\n",
                                  "-MOVED x 10.0.0.1:7001\r\n",
                                  "-MOVED 1 10.0.0.1\r\n",
                                  "-ASK 1 10.0.0.1:7001 x\r\n",
                                  "-MOVED 1 10.0.0.1:70010\r\n",
                                  "-MOVED 1 10.0.0.1:7001",
                                  "-MOVED 1  10.0.0.1:7001\r\n"}) {
    const Rewritten same = redirected(reply);
    EXPECT_EQ(same.reply, reply);
    EXPECT_EQ(same.replaced, 0) << reply;
  }
  const Rewritten unknown = redirected("-MOVED 1 10.0.0.9:7001\r\n");
  EXPECT_EQ(unknown.reply, "-MOVED 1 10.0.0.9:7001\r\n");
  EXPECT_EQ(unknown.unknown, 1);
  EXPECT_EQ(redirected("-ASK 1 10.0.0.3:7003\r\n").direct, 1);
}

TEST_F(Rewriting, knows_redirects_by_their_beginning) {
  EXPECT_EQ(redirect_in("-MOVED 1 a:1"), Redirect::moved);
  EXPECT_EQ(redirect_in("-ASK 1 a:1\r\n"), Redirect::ask);
  for (const std::string_view none : {"", "-", "-MOVED", "-ASKING", "+MOVED 1", "-moved 1 a:1"}) {
    EXPECT_EQ(redirect_in(none), Redirect::none);
  }
}

}  // namespace
}  // namespace cuckooguard::cluster
