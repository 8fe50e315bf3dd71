// What travels on which connection to a node of those that clients share, and whom it concerns when
// one is lost or a node hangs.
#include "routing/shared_nodes.h"

#include "routing/routed_texts.h"

namespace cuckooguard::routing {
namespace {

TEST_F(SharedNodesTest, clients_share_one_connection_for_reads_to_each_node) {
  for (int i = 0; i < 20; ++i) {
    SharingClient& client = connect();
    EXPECT_EQ(client.ask({"GET", "a"}), "$-1\r\n");
    EXPECT_EQ(client.ask({"GET", "b"}), "$-1\r\n");
  }
  EXPECT_EQ(wires_that_heard("GET"), 2U);
}

TEST_F(SharedNodesTest, a_transaction_has_a_connection_to_itself_that_the_next_one_gets) {
  SharingClient& one = connect();
  SharingClient& other = connect();
  EXPECT_EQ(one.ask({"GET", "b"}), "$-1\r\n");
  EXPECT_EQ(one.ask({"WATCH", "b"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"MULTI"}), "+OK\r\n");
  EXPECT_EQ(other.ask({"GET", "b"}), "$-1\r\n");
  EXPECT_EQ(other.ask({"SET", "b", "1"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"SET", "b", "2"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"EXEC"}), "*0\r\n");
  SharedWire& own = wire_of({"MULTI"});
  EXPECT_FALSE(own.has_heard("GET"));
  EXPECT_EQ(&wire_of({"SET", "b", "2"}), &own);
  EXPECT_NE(&wire_of({"SET", "b", "1"}), &own);
  EXPECT_EQ(other.ask({"WATCH", "b"}), "+OK\r\n");
  EXPECT_EQ(other.ask({"MULTI"}), "+OK\r\n");
  EXPECT_EQ(wires_that_heard("MULTI"), 1U) << "it was given back";
}

TEST_F(SharedNodesTest, who_has_logged_in_shares_nothing_with_who_has_not) {
  SharingClient& ann = connect();
  SharingClient& nobody = connect();
  EXPECT_EQ(ann.ask({"GET", "b"}), "$-1\r\n");
  EXPECT_EQ(ann.ask({"AUTH", "ann", "word"}), "+OK\r\n");
  EXPECT_EQ(ann.ask({"GET", "{b}ann"}), "$-1\r\n");
  EXPECT_EQ(ann.ask({"GET", "{a}ann"}), "$-1\r\n");
  EXPECT_EQ(nobody.ask({"GET", "{b}nobody"}), "$-1\r\n");
  EXPECT_EQ(nobody.ask({"GET", "{a}nobody"}), "$-1\r\n");
  for (const std::string slot : {"{a}", "{b}"}) {
    EXPECT_EQ(wire_of({"GET", slot + "ann"}).heard.front(), (Words{"AUTH", "ann", "word"}));
    EXPECT_FALSE(wire_of({"GET", slot + "nobody"}).has_heard("AUTH"));
  }
  EXPECT_EQ(ann.ask({"RESET"}), "+RESET\r\n");
  EXPECT_EQ(ann.ask({"GET", "{a}reset"}), "$-1\r\n");
  EXPECT_EQ(ann.ask({"GET", "{b}reset"}), "$-1\r\n");
  for (const std::string slot : {"{a}", "{b}"}) {
    SharedWire& wire = wire_of({"GET", slot + "reset"});
    const auto last_auth = std::ranges::find(wire.heard, Words{"AUTH", "ann", "word"});
    EXPECT_TRUE(last_auth == wire.heard.end() || wire.has_heard("RESET"));
  }
}

TEST_F(SharedNodesTest, a_subscription_has_a_connection_to_itself) {
  SharingClient& one = connect();
  SharingClient& other = connect();
  EXPECT_TRUE(one.ask({"SUBSCRIBE", "c"}).starts_with("*3\r\n$9\r\nsubscribe"));
  EXPECT_EQ(other.ask({"GET", "a"}), "$-1\r\n");
  EXPECT_EQ(other.ask({"GET", "b"}), "$-1\r\n");
  EXPECT_FALSE(wire_of({"SUBSCRIBE", "c"}).has_heard("GET"));
  const std::string message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
  wire_of({"SUBSCRIBE", "c"}).peer.send(message);
  let_pass(loop_, milliseconds(20));
  EXPECT_EQ(one.got, message);
  EXPECT_EQ(other.got, "");
}

TEST_F(SharedNodesTest, who_has_asked_who_it_is_keeps_its_connection) {
  SharingClient& one = connect();
  EXPECT_EQ(one.ask({"CLIENT", "ID"}), ":7\r\n");
  SharedWire& own = wire_of({"CLIENT", "ID"});
  SharingClient& other = connect();
  EXPECT_EQ(other.ask({"MULTI"}), "+OK\r\n");
  EXPECT_FALSE(own.has_heard("MULTI"));
}

TEST_F(SharedNodesTest, a_connection_that_is_lost_ends_those_who_are_owed_replies_there) {
  SharingClient& idle = connect();
  SharingClient& waits = connect();
  EXPECT_EQ(idle.ask({"GET", "a"}), "$-1\r\n");
  EXPECT_EQ(idle.ask({"GET", "b"}), "$-1\r\n");
  hung_ = {kNodeA};
  EXPECT_EQ(waits.ask({"GET", "{b}2"}), "");
  for (const auto& wire : wires_) {
    if (wire->node == kNodeA) {
      wire->peer.reset();
    }
  }
  wake_up();
  let_pass(loop_, milliseconds(20));
  EXPECT_TRUE(waits.is_lost);
  EXPECT_FALSE(idle.is_lost);
  EXPECT_EQ(idle.ask({"GET", "b"}), "$-1\r\n");
}

// What it has asked for is more than may be kept until it can be merged.
TEST_F(SharedNodesTest, one_that_asks_for_too_much_ends_alone) {
  SharingClient& one = connect();
  SharingClient& other = connect();
  EXPECT_EQ(other.ask({"GET", "b"}), "$-1\r\n");
  answer_ = [](const Words& words) {
    const std::string nine_mb(std::size_t{9} << 20U, 'x');
    if (words.front() != "MGET") {
      return usual_answer(words);
    }
    std::string reply = "*" + std::to_string(words.size() - 1) + "\r\n";
    for (std::size_t i = 1; i < words.size(); ++i) {
      reply += "$" + std::to_string(nine_mb.size()) + "\r\n" + nine_mb + "\r\n";
    }
    return reply;
  };
  one.send({"MGET", "a", "b", "{a}1", "{b}1", "{a}2", "{b}2", "{a}3", "{b}3", "{a}4"});
  let_pass(loop_, std::chrono::seconds(1));
  EXPECT_TRUE(one.is_lost);
  EXPECT_EQ(other.ask({"GET", "b"}, std::chrono::seconds(1)), "$-1\r\n");
  EXPECT_EQ(other.ask({"GET", "a"}, std::chrono::seconds(1)), "$-1\r\n");
  EXPECT_FALSE(other.is_lost);
}

TEST_F(SharedNodesTest, a_slot_that_is_on_its_way_keeps_those_of_others_waiting_for_nothing) {
  SharingClient& one = connect();
  SharingClient& other = connect();
  answer_ = [](const Words& words) {
    return words.front() == "MGET" ? "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
                                   : usual_answer(words);
  };
  EXPECT_EQ(one.ask({"MGET", "b", "{b}2"}, milliseconds(1)), "") << "it is tried again";
  EXPECT_EQ(other.ask({"GET", "b"}, milliseconds(1)), "$-1\r\n");
  EXPECT_EQ(other.ask({"SET", "a", "1"}, milliseconds(1)), "+OK\r\n");
}

// Of whatever has nothing to do with the node, a greeting and a transaction included.
TEST_F(SharedNodesTest, who_comes_while_a_node_hangs_is_served_by_the_others) {
  SharingClient& waits = connect();
  EXPECT_EQ(waits.ask({"GET", "b"}), "$-1\r\n");
  hung_ = {kNodeA};
  waits.send({"GET", "b"});
  for (int i = 0; i < 4; ++i) {
    SharingClient& client = connect();
    EXPECT_EQ(client.ask({"CLIENT", "SETNAME", "web"}, 3 * Node::kSilentFor), "+OK\r\n") << i;
    EXPECT_EQ(client.ask({"AUTH", "word"}, 3 * Node::kSilentFor), "+OK\r\n");
    EXPECT_EQ(client.ask({"PING"}, 3 * Node::kSilentFor), "+PONG\r\n");
    EXPECT_EQ(client.ask({"GET", "a"}, 3 * Node::kSilentFor), "$-1\r\n");
    EXPECT_EQ(client.ask({"MULTI"}, 3 * Node::kSilentFor), "+OK\r\n");
    EXPECT_EQ(client.ask({"SET", "a", "1"}, 3 * Node::kSilentFor), "+OK\r\n");
    EXPECT_EQ(client.ask({"EXEC"}, 3 * Node::kSilentFor), "*0\r\n");
  }
}

// Nobody has asked it for anything but a connection.
TEST_F(SharedNodesTest, who_waits_for_a_connection_to_a_node_that_hangs_is_served_by_the_others) {
  std::vector<SharingClient*> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(&connect());
  }
  let_pass(loop_, std::chrono::seconds(2));  // whether a client is let in is to be asked again
  hung_ = {kNodeA};
  for (SharingClient* const client : clients) {
    EXPECT_EQ(client->ask({"CLIENT", "SETNAME", "web"}, 3 * Node::kSilentFor), "+OK\r\n");
    EXPECT_EQ(client->ask({"PING"}, 3 * Node::kSilentFor), "+PONG\r\n");
  }
}

// It has answered somebody else in between.
TEST_F(SharedNodesTest,
       who_waits_for_a_node_that_hung_after_its_last_word_is_served_by_the_others) {
  SharingClient& listens = connect();
  EXPECT_TRUE(listens.ask({"SUBSCRIBE", "c"}).starts_with("*3\r\n"));
  SharedWire& wire = wire_of({"SUBSCRIBE", "c"});
  std::vector<SharingClient*> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(&connect());
    EXPECT_EQ(clients.back()->ask({"PING"}), "+PONG\r\n");
  }
  hung_ = {wire.node};
  for (SharingClient* const client : clients) {
    client->got.clear();
    client->send({"PING"});
  }
  let_pass(loop_, milliseconds(20));
  wire.peer.send("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n");
  let_pass(loop_, 4 * Node::kSilentFor);
  for (SharingClient* const client : clients) {
    EXPECT_EQ(client->got, "+PONG\r\n");
  }
}

// Nodes that are far away are slow and not silent: a command is not taken elsewhere for ever. As
// far as a node of a cluster may be (upstream::ClusterWatch::kConnectTimeout).
TEST_F(SharedNodesTest, who_is_far_from_all_nodes_is_served) {
  loop_.weather().latency_max = Node::kSilentFor * 3 / 5;
  SharingClient& client = connect();
  EXPECT_EQ(client.ask({"PING"}, std::chrono::seconds(10)), "+PONG\r\n");
}

TEST_F(SharedNodesTest, a_cluster_that_is_down_says_so_itself) {
  const std::string down = "-CLUSTERDOWN The cluster is down\r\n";
  SharingClient& client = connect();
  EXPECT_EQ(client.ask({"GET", "a"}), "$-1\r\n");
  routed_.set(map("0-8191", "8192-16383", false), loop_.now());
  answer_ = [&](const Words& words) { return words.front() == "GET" ? down : usual_answer(words); };
  EXPECT_EQ(client.ask({"GET", "a"}, 2 * RoutedTransport::kRetriedFor), down);
  EXPECT_EQ(client.ask({"PING"}), "+PONG\r\n");
  answer_ = usual_answer;
  EXPECT_EQ(client.ask({"GET", "a"}), "$-1\r\n") << "some nodes go on reading";
}

TEST_F(SharedNodesTest, who_comes_to_a_cluster_that_has_never_been_up_is_told_so) {
  RoutedLoop routed(loop_, settings_, config::UpstreamMode::shared, [] {});
  routed.set(map("0-8191", "8192-16383", false), loop_.now());
  SharingClient client(loop_);
  loop_.as_batch([&] {
    upstream::Connection::Owner& owner = client;
    client.connection = std::make_unique<upstream::Connection>(routed, settings_, owner);
  });
  EXPECT_EQ(client.ask({"GET", "a"}, 2 * RoutedTransport::kRetriedFor), kNotServed);
  EXPECT_EQ(client.ask({"PING"}), "+PONG\r\n");
  loop_.as_batch([&] { client.connection->close(); });
  loop_.as_batch([&] { client.connection.reset(); });
}

}  // namespace
}  // namespace cuckooguard::routing
