// The routing endpoint against nodes that say what the test says.
#include "routing/routed_transport.h"

#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "cluster/map.h"
#include "routing/routed_loop.h"
#include "routing/routed_texts.h"
#include "routing/shared_nodes.h"
#include "simulation/resp_text.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"
#include "upstream/connection.h"

namespace cuckooguard::routing {
namespace {

using simulation::command;
using simulation::SimLoop;
using simulation::SimPeer;
using simulation::SimTransport;

constexpr std::uint16_t kA = 7000;  // slots 0-8191: {b}
constexpr std::uint16_t kB = 7001;  // the others: {a}

class RoutedTransportTest : public ::testing::Test, public upstream::Connection::Owner {
 protected:
  RoutedTransportTest() {
    loop_.on_connect([this](SimTransport& transport) {
      auto& peer = peers_[loop_.connected_address().port];
      peer = std::make_unique<SimPeer>(loop_);
      transport.establish(*peer);
    });
    routed_.set(map("0-8191", "8192-16383"), loop_.now());
    connect();
  }
  void connect() {
    if (connection_) {
      connection_->close();
    }
    upstream::Connection::Owner& owner = *this;
    connection_ = std::make_unique<upstream::Connection>(routed_, settings_, owner);
    loop_.run();
  }
  void TearDown() override {
    EXPECT_EQ(loop_.failure(), "");
    connection_->close();
  }

  static std::shared_ptr<const cluster::Map> map(const std::string& of_a,
                                                 const std::string& of_b,
                                                 const std::string& a_is = "master") {
    auto view =
        cluster::parse_nodes(std::string(40, 'a') + " 10.0.0.1:7000@1 " + a_is +
                                 " - 0 0 1 connected " + of_a + "\n" + std::string(40, 'b') +
                                 " 10.0.0.1:7001@1 myself,master - 0 0 2 connected " + of_b + "\n",
                             "10.0.0.1");
    view->is_ok = true;
    return std::make_shared<const cluster::Map>(cluster::merge({&*view, 1}));
  }

  void on_upstream_up() override {}
  void on_upstream_bytes(std::string_view bytes) override { got_ += bytes; }
  void on_upstream_progress() override {}
  void on_upstream_lost() override { is_lost_ = true; }

  void send(std::initializer_list<std::string> words) { send_bytes(command(words)); }
  void send_bytes(const std::string& bytes) {
    loop_.as_batch([&] { connection_->send(bytes); });
    loop_.run(std::chrono::milliseconds(1));
  }
  // What the node has got since.
  std::string at(std::uint16_t node) {
    return peers_.contains(node) ? peers_[node]->read() : std::string();
  }
  void say(std::uint16_t node, const std::string& reply) {
    peers_[node]->send(reply);
    loop_.run(std::chrono::milliseconds(1));
  }
  std::string got() { return std::exchange(got_, {}); }
  void reach_both() {
    send_bytes(command({"GET", "b"}) + command({"GET", "a"}));
    for (const std::uint16_t node : {kA, kB}) {
      say(node, "$-1\r\n");
      (void)at(node);
    }
    (void)got();
  }
  static std::string set(const std::string& key, const std::string& value) {
    return command({"SET", key, value});
  }
  static std::string asked(const std::string& bytes) { return command({"ASKING"}) + bytes; }

  SimLoop loop_{1};
  config::Upstream settings_;
  RoutedLoop routed_{loop_, settings_, config::UpstreamMode::pinned, [this] { ++doubts_; }};
  std::map<std::uint16_t, std::unique_ptr<SimPeer>> peers_;
  std::unique_ptr<upstream::Connection> connection_;
  std::string got_;
  bool is_lost_ = false;
  int doubts_ = 0;
};

const std::string kAsk = "-ASK 3300 10.0.0.1:7001\r\n";
const std::string kMoved = "-MOVED 3300 10.0.0.1:7001\r\n";

TEST_F(RoutedTransportTest, replies_come_in_the_order_of_commands) {
  ASSERT_EQ(redis::slot_of("b"), 3300);
  send_bytes(command({"GET", "b"}) + command({"GET", "a"}));
  EXPECT_EQ(at(kA), command({"GET", "b"}));
  EXPECT_EQ(at(kB), command({"GET", "a"}));
  say(kB, "$1\r\nA\r\n");
  EXPECT_EQ(got(), "");
  say(kA, "$1\r\nB\r\n");
  EXPECT_EQ(got(), "$1\r\nB\r\n$1\r\nA\r\n");
}

TEST_F(RoutedTransportTest, later_commands_of_a_slot_wait_for_one_that_is_asked_elsewhere) {
  send_bytes(set("b", "1") + set("b", "2"));
  EXPECT_EQ(at(kA), set("b", "1") + set("b", "2")) << "nobody knows yet that it moves";
  say(kA, kAsk);
  EXPECT_EQ(at(kB), "") << "the second may still be run";
  say(kA, kAsk);
  EXPECT_EQ(at(kB), asked(set("b", "1")));
  send_bytes(set("b", "3"));
  EXPECT_EQ(at(kA), "");
  say(kB, "+OK\r\n+OK\r\n");
  EXPECT_EQ(at(kB), asked(set("b", "2")));
  EXPECT_EQ(at(kA), "") << "the second may be asked elsewhere yet";
  say(kB, "+OK\r\n+OK\r\n");
  EXPECT_EQ(at(kA), set("b", "3"));
  say(kA, "+OK\r\n");
  EXPECT_EQ(got(), "+OK\r\n+OK\r\n+OK\r\n");
}

TEST_F(RoutedTransportTest, a_command_that_a_later_one_of_its_key_has_overtaken_is_not_run) {
  send_bytes(set("b", "1") + set("b", "2"));
  say(kA, kAsk + "+OK\r\n");  // it moves no more
  EXPECT_EQ(at(kB), "");
  EXPECT_EQ(got(), std::string(kOvertaken) + "+OK\r\n");
}

// Each with each other one would take seconds, for which all others wait.
TEST_F(RoutedTransportTest, many_keys_are_compared_in_no_time) {
  constexpr int kCommands = 14;
  for (int i = 0; i < kCommands; ++i) {
    std::vector<std::string> words{"EXISTS"};
    for (int k = 0; k < 4000; ++k) {
      words.push_back("{b}" + std::to_string(i) + "." + std::to_string(k));
    }
    send_bytes(command(words));
  }
  std::string replies;
  for (int i = 0; i < kCommands; ++i) {
    replies += i < kCommands / 2 ? kAsk : ":4000\r\n";
  }
  const auto begun = std::clock();
  say(kA, replies);
  EXPECT_LT(std::clock() - begun, CLOCKS_PER_SEC);
}

TEST_F(RoutedTransportTest, one_of_another_key_is_run_behind_it) {
  send_bytes(set("b", "1") + set("{b}2", "2"));
  say(kA, kAsk + "+OK\r\n");
  EXPECT_EQ(at(kB), asked(set("b", "1")));
  say(kB, "+OK\r\n+OK\r\n");
  EXPECT_EQ(got(), "+OK\r\n+OK\r\n");
}

TEST_F(RoutedTransportTest, what_has_moved_goes_to_the_new_node_from_then_on) {
  send_bytes(set("b", "1"));
  say(kA, kMoved);
  EXPECT_EQ(at(kB), set("b", "1"));
  EXPECT_GT(doubts_, 0);
  say(kB, "+OK\r\n");
  at(kA);
  send_bytes(set("b", "2"));
  EXPECT_EQ(at(kB), set("b", "2"));
  EXPECT_EQ(at(kA), "");
}

TEST_F(RoutedTransportTest, redirects_end_and_nobody_is_told_of_nodes) {
  send_bytes(set("b", "1"));
  for (int i = 0; i <= RoutedTransport::kRedirectsMax; ++i) {
    EXPECT_EQ(at(i % 2 == 0 ? kA : kB), set("b", "1"));
    say(i % 2 == 0 ? kA : kB, i % 2 == 0 ? kMoved : "-MOVED 3300 10.0.0.1:7000\r\n");
  }
  EXPECT_EQ(got(), kMoving);
}

// A script says what it wants: nobody is led to an address that no node has told.
TEST_F(RoutedTransportTest, a_redirect_to_who_is_no_node_is_not_followed) {
  const std::string eval = command({"EVAL", "x", "1", "b"});
  send_bytes(eval);
  say(kA, "-MOVED 3300 10.6.6.6:6379\r\n");
  EXPECT_FALSE(peers_.contains(6379));
  EXPECT_EQ(got(), kMovingScript);
  send_bytes(eval);
  say(kA, "-TRYAGAIN it says\r\n");
  EXPECT_EQ(got(), "-TRYAGAIN it says\r\n") << "it may have done something before";
}

TEST_F(RoutedTransportTest, tries_again_for_a_while_and_then_says_what_redis_says) {
  const std::string again = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
  send_bytes(command({"MGET", "b", "{b}2"}));
  for (int i = 0; i <= RoutedTransport::kRetriedFor / RoutedTransport::kRetryEvery; ++i) {
    EXPECT_EQ(got(), "");
    peers_[kA]->send(again);
    loop_.run(RoutedTransport::kRetryEvery);
  }
  EXPECT_EQ(got(), again);
}

// They wait side by side.
TEST_F(RoutedTransportTest, tries_many_again_for_no_longer_than_one) {
  std::string commands;
  std::string errors;
  const std::string again = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
  for (int i = 0; i < 20; ++i) {
    commands += command({"MGET", "b", "{b}2"});
    errors += again;
  }
  send_bytes(commands);
  std::string told;
  for (int i = 0; i < 60; ++i) {
    peers_[kA]->send(again);
    loop_.run(RoutedTransport::kRetryEvery);
    told += got();
  }
  EXPECT_EQ(told, errors);
}

TEST_F(RoutedTransportTest, what_a_client_does_not_read_is_not_answered_for_ever) {
  connection_->set_reading(false);
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += command({"SAVE"});
  }
  for (int i = 0; i < 10; ++i) {
    send_bytes(many);
  }
  EXPECT_GT(connection_->unsent(), 0U) << "the client is not read, either";
  EXPECT_LT(loop_.chunks().bytes_in_use(), 4 * RoutedTransport::kHeldSoft);
  connection_->set_reading(true);
  loop_.run(std::chrono::seconds(1));
  EXPECT_EQ(connection_->unsent(), 0U);
}

TEST_F(RoutedTransportTest, exec_without_multi_leaves_what_is_watched) {
  send({"WATCH", "b"});
  EXPECT_EQ(at(kA), command({"WATCH", "b"}));
  say(kA, "+OK\r\n");
  send({"EXEC"});
  say(kA, "-ERR EXEC without MULTI\r\n");
  (void)at(kA);
  send({"UNWATCH"});
  EXPECT_EQ(at(kA), command({"UNWATCH"})) << "the other node watches nothing";
}

TEST_F(RoutedTransportTest, a_command_too_large_to_be_kept_is_sent_once) {
  const std::string large = set("b", std::string(100'000, 'x'));
  send_bytes(large);
  EXPECT_EQ(at(kA), large);
  say(kA, kMoved);
  EXPECT_EQ(at(kB), "");
  EXPECT_EQ(got(), kMovingLarge);
}

TEST_F(RoutedTransportTest, a_node_that_is_lost_with_a_reply_owed_ends_it_all) {
  send_bytes(command({"GET", "b"}) + command({"GET", "a"}));
  say(kB, "$1\r\nA\r\n");
  peers_[kA]->reset();
  loop_.run();
  EXPECT_TRUE(is_lost_);
  EXPECT_EQ(got(), "") << "no reply but in its place";
}

TEST_F(RoutedTransportTest, a_node_that_is_lost_and_owes_nothing_is_reached_anew) {
  send_bytes(command({"GET", "a"}));
  say(kB, "$1\r\nA\r\n");
  peers_[kB]->reset();
  loop_.run();
  EXPECT_FALSE(is_lost_);
  send_bytes(command({"GET", "a"}));
  EXPECT_EQ(at(kB), command({"GET", "a"}));
}

TEST_F(RoutedTransportTest, a_login_is_told_to_the_other_nodes_when_one_has_taken_it) {
  send_bytes(command({"GET", "b"}) + command({"GET", "a"}));
  say(kA, "-NOAUTH Authentication required.\r\n");
  say(kB, "-NOAUTH Authentication required.\r\n");
  got();
  at(kA);
  at(kB);
  const std::string auth = command({"AUTH", "ann", "word"});
  send_bytes(auth + command({"GET", "b"}) + command({"GET", "a"}));
  std::string first = at(kA);
  const bool is_a_first = first == auth;
  const std::uint16_t told = is_a_first ? kA : kB;
  const std::uint16_t other = is_a_first ? kB : kA;
  EXPECT_EQ(is_a_first ? first : at(kB), auth);
  EXPECT_EQ(at(other), "");
  say(told, "+OK\r\n");
  EXPECT_EQ(at(other), auth) << "and its command waits";
  say(other, "-WRONGPASS no\r\n");
  EXPECT_TRUE(is_lost_) << "nothing is run as another user";
  EXPECT_EQ(at(other), "");
}

// With RESP3 messages come among replies.
TEST_F(RoutedTransportTest, a_login_is_told_to_a_node_whose_messages_come_in_between) {
  const std::string confirmed = ">3\r\n$10\r\nssubscribe\r\n$1\r\nb\r\n:1\r\n";
  const std::string message = ">3\r\n$8\r\nsmessage\r\n$1\r\nb\r\n$3\r\n-no\r\n";
  const std::string hello = command({"HELLO", "3"});
  send_bytes(command({"GET", "b"}) + command({"GET", "a"}));
  say(kA, "$-1\r\n");
  say(kB, "$-1\r\n");
  (void)at(kA);
  (void)at(kB);
  send_bytes(hello);
  const std::uint16_t home = at(kA) == hello ? kA : kB;
  const std::uint16_t other = home == kA ? kB : kA;
  say(home, "%0\r\n");
  EXPECT_EQ(at(other), hello);
  say(other, "%0\r\n");
  const std::string key = other == kA ? "b" : "a";
  send({"SSUBSCRIBE", key});
  (void)at(other);
  say(other, confirmed);
  (void)got();

  const std::string auth = command({"AUTH", "ann", "word"});
  send_bytes(auth + command({"GET", key}));
  say(home, "+OK\r\n");
  EXPECT_EQ(at(other), auth) << "and GET waits";
  say(other, message);
  EXPECT_FALSE(is_lost_);
  EXPECT_EQ(at(other), "") << "that was no reply to AUTH";
  say(other, "+OK\r\n");
  EXPECT_EQ(at(other), command({"GET", key}));
  say(other, "$1\r\nA\r\n");
  EXPECT_EQ(got(), "+OK\r\n" + message + "$1\r\nA\r\n");
}

// A slot that moves away ends its subscriptions, unasked.
TEST_F(RoutedTransportTest, what_ends_by_itself_confirms_no_command) {
  const std::string ended = "*3\r\n$12\r\nsunsubscribe\r\n$1\r\nb\r\n:0\r\n";
  const std::string began = "*3\r\n$10\r\nssubscribe\r\n$4\r\n{b}2\r\n:1\r\n";
  send({"SSUBSCRIBE", "{b}2"});
  (void)at(kA);
  say(kA, ended);
  send({"PING"});
  EXPECT_EQ(at(kA), "") << "what is behind SSUBSCRIBE waits for its own reply";
  say(kA, began);
  EXPECT_EQ(at(kA), command({"PING"}));
  EXPECT_EQ(got(), ended + began);
}

TEST_F(RoutedTransportTest, a_large_command_of_who_is_subscribed_is_refused_as_a_small_one_is) {
  send({"SSUBSCRIBE", "b"});
  (void)at(kA);
  say(kA, "*3\r\n$10\r\nssubscribe\r\n$1\r\nb\r\n:1\r\n");
  (void)got();
  for (const std::size_t size : {10UL, 100'000UL}) {
    send_bytes(set("b", std::string(size, 'x')));
    EXPECT_EQ(at(kA), "");
    EXPECT_EQ(got(), "-ERR Can't execute 'set" + std::string(kOnlySubscriptions));
  }
}

// What has no key goes where the first key leads, wherever that is by then.
TEST_F(RoutedTransportTest, all_masters_are_asked_and_one_reply_is_made_of_theirs) {
  send_bytes(set("b", "1") + command({"DBSIZE"}) + command({"PING"}));
  EXPECT_EQ(at(kA).substr(set("b", "1").size()).substr(0, 16), command({"DBSIZE"}));
  EXPECT_EQ(at(kB).substr(0, 16), command({"DBSIZE"}));
  say(kB, ":2\r\n");
  say(kA, "+OK\r\n:3\r\n");
  EXPECT_EQ(got().substr(0, 9), "+OK\r\n:5\r\n");
}

TEST_F(RoutedTransportTest, a_master_that_does_not_reply_delays_what_all_are_asked_only_so_long) {
  send({"KEYS", "*"});
  say(kA, "*1\r\n$1\r\nb\r\n");
  EXPECT_EQ(got(), "");
  loop_.run(RoutedTransport::kAskedFor);
  EXPECT_EQ(got(), kSilentNode);
  send({"GET", "b"});
  say(kA, "$1\r\n1\r\n");
  EXPECT_EQ(got(), "$1\r\n1\r\n");
}

TEST_F(RoutedTransportTest, a_reply_that_comes_too_late_is_nobodys) {
  send_bytes(command({"GET", "a"}) + command({"KEYS", "*"}));
  say(kA, "*1\r\n$1\r\nb\r\n");
  loop_.run(RoutedTransport::kAskedFor);
  EXPECT_EQ(got(), "") << "the first is that master's alone";
  say(kB, "$1\r\n1\r\n*1\r\n$1\r\na\r\n");
  EXPECT_EQ(got(), "$1\r\n1\r\n" + std::string(kSilentNode));
  send({"GET", "a"});
  say(kB, "$1\r\n2\r\n");
  EXPECT_EQ(got(), "$1\r\n2\r\n");
}

// On another connection what comes later would be run before it.
TEST_F(RoutedTransportTest, a_node_that_may_yet_run_what_was_given_up_is_not_left) {
  for (std::string home; home.empty();) {  // by turns
    connect();
    send({"PING"});
    home = at(kA);
    say(home.empty() ? kB : kA, "+PONG\r\n");
    (void)at(kB);
  }
  (void)got();
  send({"FLUSHALL"});
  say(kA, "+OK\r\n");
  loop_.run(RoutedTransport::kAskedFor);
  EXPECT_EQ(got(), kSilentNode);
  (void)at(kA);
  send_bytes(command({"AUTH", "word"}) + command({"PING"}));
  EXPECT_EQ(at(kA), command({"AUTH", "word"}));
  say(kA, "+OK\r\n");
  EXPECT_EQ(at(kB), command({"FLUSHALL"}) + command({"AUTH", "word"}));
  let_pass(loop_, 3 * Node::kSilentFor);
  EXPECT_EQ(at(kA), "");
  say(kB, "+OK\r\n+OK\r\n");
  EXPECT_EQ(at(kA), command({"PING"}));
}

TEST_F(RoutedTransportTest, a_node_that_hangs_and_owes_nothing_delays_no_change_of_the_others) {
  reach_both();
  const std::string login = command({"AUTH", "word"});
  send_bytes(login + command({"PING"}));
  const std::uint16_t home = at(kA) == login ? kA : kB;
  (void)at(home);
  say(home, "+OK\r\n");
  let_pass(loop_, 2 * Node::kSilentFor + std::chrono::milliseconds(10));
  EXPECT_EQ(at(home), command({"PING"})) << "the other one hangs";
}

// HELLO SETNAME takes no right to CLIENT.
TEST_F(RoutedTransportTest, a_label_that_the_other_nodes_refuse_ends_nobody_and_is_not_waited_for) {
  reach_both();
  send_bytes(command({"HELLO", "3", "SETNAME", "n"}));
  const std::uint16_t home = !at(kA).empty() ? kA : kB;
  const std::uint16_t other = home == kA ? kB : kA;
  (void)at(home);
  say(home, "%1\r\n+proto\r\n:3\r\n");
  EXPECT_EQ(at(other), command({"HELLO", "3"}) + command({"CLIENT", "SETNAME", "n"}));
  say(other, "%1\r\n+proto\r\n:3\r\n");
  send({"PING"});
  EXPECT_EQ(at(home), command({"PING"}));
  say(home, "+PONG\r\n");
  say(other, "-NOPERM this user has no permissions to run 'client|setname'\r\n");
  EXPECT_EQ(got(), "%1\r\n+proto\r\n:3\r\n+PONG\r\n");
  EXPECT_FALSE(is_lost_);
}

TEST_F(RoutedTransportTest, keys_that_are_too_many_are_an_error_and_the_client_goes_on) {
  send({"KEYS", "*"});
  const std::string key(1024 * 1024, 'k');
  std::string keys = "*9\r\n";
  for (int i = 0; i < 9; ++i) {
    keys += "$1048576\r\n" + key + "\r\n";
  }
  say(kA, keys);
  say(kB, keys);
  loop_.run(std::chrono::seconds(1));
  EXPECT_EQ(got(), kJoinedTooLarge);
  send({"SCAN", "0", "COUNT", "100"});
  say(kA, "*2\r\n$1\r\n7\r\n*72\r\n");
  for (int i = 0; i < 8; ++i) {
    say(kA, keys.substr(4));
    loop_.run(std::chrono::seconds(1));
  }
  EXPECT_EQ(got(), kJoinedTooLarge);
  EXPECT_FALSE(is_lost_);
}

// Of a reply to SCAN. Empty: there is none.
std::string cursor_in(const std::string& reply) {
  if (reply.empty()) {
    return {};
  }
  const std::size_t at = reply.find("\r\n", reply.find('$')) + 2;
  return reply.substr(at, reply.find("\r\n", at) - at);
}
std::string scanned(const std::string& cursor, const std::string& key) {
  return "*2\r\n$" + std::to_string(cursor.size()) + "\r\n" + cursor + "\r\n*1\r\n$1\r\n" + key +
         "\r\n";
}

class ScanTest : public RoutedTransportTest {
 protected:
  // The cursor that the client gets for the reply of this node, that it must have asked.
  std::string scan(const std::string& cursor,
                   std::uint16_t node,
                   const std::string& of_node,
                   const std::string& next) {
    send({"SCAN", cursor, "COUNT", "5"});
    EXPECT_EQ(at(node), command({"SCAN", of_node, "COUNT", "5"}));
    say(node, scanned(next, "k"));
    return cursor_in(got());
  }
  // Asked for behind everything so far, or before all of that.
  void set_map(const std::string& of_a, const std::string& of_b, bool is_new = true) {
    routed_.set(map(of_a, of_b), loop_.now() + std::chrono::milliseconds(is_new ? 1 : 0));
  }
};

TEST_F(ScanTest, goes_from_master_to_master_and_ends_when_nothing_has_moved) {
  std::string cursor = scan("0", kA, "0", "17");
  cursor = scan(cursor, kA, "17", "0");
  cursor = scan(cursor, kB, "0", "549755813887");
  const int doubts = doubts_;
  EXPECT_EQ(scan(cursor, kB, "549755813887", "0"), "") << "whether that is the end is not known";
  EXPECT_EQ(doubts_, doubts + 1);
  set_map("0-8191", "8192-16383");
  loop_.run(std::chrono::milliseconds(100));
  EXPECT_EQ(got(), scanned("0", "k"));
}

TEST_F(ScanTest, begins_again_when_a_slot_has_moved) {
  std::string cursor = scan("0", kA, "0", "0");
  set_map("0-8192", "8193-16383", false);  // the slot's keys were seen at neither
  cursor = scan(cursor, kB, "0", "0");
  EXPECT_NE(cursor, "0");
  cursor = scan(cursor, kA, "0", "0");
  (void)scan(cursor, kB, "0", "0");
  set_map("0-8192", "8193-16383");
  loop_.run(std::chrono::milliseconds(100));
  EXPECT_EQ(cursor_in(got()), "0") << "none has in the second pass";
}

TEST_F(ScanTest, begins_again_when_it_hears_only_at_the_end_that_a_slot_is_moving) {
  const std::string cursor = scan("0", kA, "0", "0");
  (void)scan(cursor, kB, "0", "0");
  set_map("0-8191 [8191->-" + std::string(40, 'b') + "]", "8192-16383");
  loop_.run(std::chrono::milliseconds(100));
  const std::string again = cursor_in(got());
  EXPECT_NE(again, "0");
  (void)scan(again, kA, "0", "5");
}

// A migration that nobody goes on with does not keep SCAN from its end.
TEST_F(ScanTest, needs_two_passes_while_a_slot_is_on_its_way) {
  const std::string on_its_way = "0-8191 [8191->-" + std::string(40, 'b') + "]";
  set_map(on_its_way, "8192-16383", false);
  std::string cursor = scan("0", kA, "0", "0");
  cursor = scan(cursor, kB, "0", "0");
  EXPECT_NE(cursor, "0");
  cursor = scan(cursor, kA, "0", "0");
  (void)scan(cursor, kB, "0", "0");
  set_map(on_its_way, "8192-16383");
  loop_.run(std::chrono::milliseconds(100));
  EXPECT_EQ(cursor_in(got()), "0");
}

TEST_F(ScanTest, begins_again_when_nobody_says_what_has_moved) {
  const std::string cursor = scan("0", kA, "0", "0");
  (void)scan(cursor, kB, "0", "0");
  loop_.run(RoutedTransport::kMapWithin + std::chrono::seconds(1));
  const std::string again = cursor_in(got());
  EXPECT_NE(again, "0");
  (void)scan(again, kA, "0", "5");
}

TEST_F(ScanTest, takes_any_number_for_a_cursor_and_nothing_else) {
  for (const std::string forged : {"1", "18446744073709551615", "4242424242", "1023"}) {
    send({"SCAN", forged});
    const std::string of_a = at(kA);
    const std::string of_b = at(kB);
    EXPECT_TRUE((of_a + of_b).starts_with("*2\r\n$4\r\nSCAN\r\n")) << forged;
    say(of_a.empty() ? kB : kA, scanned("3", "k"));
    EXPECT_TRUE(got().ends_with("*1\r\n$1\r\nk\r\n")) << forged;
  }
  for (const std::string wrong : {"x", "18446744073709551616", "", " 1"}) {
    send({"SCAN", wrong});
    EXPECT_EQ(got(), "-ERR invalid cursor\r\n") << wrong;
  }
}

TEST_F(ScanTest, says_so_if_a_node_has_a_cursor_that_is_too_large) {
  send({"SCAN", "0"});
  say(kA, scanned("549755813888", "k"));
  EXPECT_EQ(got(), kCursorTooLarge);
}

TEST_F(RoutedTransportTest, publishes_where_others_subscribe) {
  send({"PUBLISH", "a", "m"});
  EXPECT_EQ(at(kA), command({"PUBLISH", "a", "m"})) << "the master of slot 0";
  say(kA, ":1\r\n");
  send({"SUBSCRIBE", "a"});
  EXPECT_EQ(at(kA), command({"SUBSCRIBE", "a"}));
  EXPECT_EQ(got(), ":1\r\n");
}

TEST_F(RoutedTransportTest, subscribes_elsewhere_while_that_node_is_down_or_hangs) {
  const std::string subscribe = command({"SUBSCRIBE", "c"});
  const std::string confirmed = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
  for (std::string home; home.empty();) {  // by turns
    connect();
    send({"PING"});
    home = at(kB);
    say(home.empty() ? kA : kB, "+PONG\r\n");
    (void)at(kA);
  }
  (void)got();
  send_bytes(subscribe);
  EXPECT_EQ(at(kA), subscribe);
  let_pass(loop_, 2 * Node::kSilentFor + std::chrono::milliseconds(10));
  EXPECT_EQ(at(kB), subscribe) << "the master of slot 0 hangs";
  say(kB, confirmed);
  EXPECT_EQ(got(), confirmed);

  loop_.run(Node::kSilenceCounts);
  routed_.set(map("0-8191", "8192-16383", "master,fail"), loop_.now());
  connect();
  send({"PUBLISH", "c", "m"});
  EXPECT_EQ(at(kB), command({"PUBLISH", "c", "m"})) << "the cluster says that it is down";
}

TEST_F(RoutedTransportTest, a_transaction_asks_none_of_several_masters_of_which_one_is_down) {
  routed_.set(map("0-8191", "8192-16383", "master,fail"), loop_.now());
  send({"MULTI"});
  say(kB, "+OK\r\n");
  (void)at(kB);
  send({"FLUSHALL"});
  EXPECT_EQ(at(kB), "");
  EXPECT_EQ(got(), "+OK\r\n" + std::string(kNotInTransaction));
}

TEST_F(RoutedTransportTest, a_transaction_keeps_what_has_no_key_until_it_stays) {
  const std::string ping = command({"PING"});
  send({"MULTI"});
  const std::uint16_t home = at(kA).empty() ? kB : kA;
  const std::string key = home == kA ? "a" : "b";  // of the other one
  const std::uint16_t other = home == kA ? kB : kA;
  say(home, "+OK\r\n");
  send({"PING"});
  (void)at(home);
  say(home, "+QUEUED\r\n");
  send({"GET", key});
  EXPECT_EQ(at(home), command({"DISCARD"}));
  EXPECT_EQ(at(other), command({"MULTI"}));
  routed_.set(home == kA ? map("0-16383", "") : map("", "0-16383"), loop_.now());
  say(home, "+OK\r\n");
  say(other, "+OK\r\n");
  EXPECT_EQ(at(other), ping + command({"DISCARD"})) << "the slot has moved meanwhile";
  EXPECT_EQ(at(home), command({"MULTI"}));
  say(other, "+QUEUED\r\n+OK\r\n");
  say(home, "+OK\r\n");
  EXPECT_EQ(at(home), ping + command({"GET", key}));
}

}  // namespace
}  // namespace cuckooguard::routing
