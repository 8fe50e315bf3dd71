// What one client can do to what it shares with others: nothing.
#include "routing/routed_texts.h"
#include "routing/shared_nodes.h"

namespace cuckooguard::routing {
namespace {

// Redis stays within MULTI.
TEST_F(SharedNodesTest, a_connection_within_a_transaction_is_lent_to_nobody) {
  const std::string arity = "-ERR wrong number of arguments for 'discard' command\r\n";
  answer_ = [&](const Words& words) {
    return words.front() == "DISCARD" ? arity : usual_answer(words);
  };
  SharingClient& one = connect();
  EXPECT_EQ(one.ask({"WATCH", "b"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"MULTI"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"DISCARD", "x"}), arity);
  SharingClient& other = connect();
  EXPECT_EQ(other.ask({"EVAL", "x", "1", "b"}), "+OK\r\n");
  EXPECT_FALSE(wire_of({"MULTI"}).has_heard("EVAL"));
  EXPECT_EQ(one.ask({"EXEC"}), "*0\r\n");
  EXPECT_EQ(&wire_of({"EXEC"}), &wire_of({"MULTI"}));
}

TEST_F(SharedNodesTest, nor_is_one_within_a_transaction_that_watches_nothing) {
  SharingClient& one = connect();
  EXPECT_EQ(one.ask({"MULTI"}), "+OK\r\n");
  SharingClient& other = connect();
  for (const char* const key : {"a", "b"}) {
    EXPECT_EQ(other.ask({"EVAL", "x", "1", key}), "+OK\r\n");
  }
  EXPECT_FALSE(wire_of({"MULTI"}).has_heard("EVAL"));
}

// Whoever was let in before a password was set is a new client behind RESET.
TEST_F(SharedNodesTest, behind_reset_nothing_is_run_as_who_the_client_was) {
  SharingClient& one = connect();
  for (const char* const key : {"a", "b"}) {
    EXPECT_EQ(one.ask({"GET", key}), "$-1\r\n");
  }
  answer_ = [](const Words& words) {
    return words.front() == "PING" ? std::string("-NOAUTH Authentication required.\r\n")
                                   : usual_answer(words);
  };
  let_pass(loop_, std::chrono::seconds(2));
  EXPECT_EQ(one.ask({"RESET"}), "+RESET\r\n");
  for (const char* const key : {"a", "b"}) {
    const Words behind{"GET", "{" + std::string(key) + "}behind"};
    EXPECT_EQ(one.ask(behind), "$-1\r\n");
    EXPECT_NE(&wire_of(behind), &wire_of({"GET", key}));
  }
}

// EXEC of what was refused here is a DISCARD, which this user may not run.
TEST_F(SharedNodesTest, a_transaction_that_cannot_be_discarded_ends_with_its_client) {
  answer_ = [&](const Words& words) {
    return words.front() == "DISCARD" ? "-NOPERM no\r\n" : usual_answer(words);
  };
  SharingClient& one = connect();
  EXPECT_EQ(one.ask({"WATCH", "b"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"MULTI"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"SET", "b", "1"}), "+OK\r\n");
  EXPECT_EQ(one.ask({"SET", "a", "1"}), kCrossSlot);
  EXPECT_EQ(one.ask({"EXEC"}), "");
  EXPECT_TRUE(one.is_lost);
  SharingClient& other = connect();
  EXPECT_EQ(other.ask({"EVAL", "x", "1", "b"}), "+OK\r\n");
  EXPECT_FALSE(wire_of({"MULTI"}).has_heard("EVAL"));
}

// Redis 7.0 has logged it in before it refuses the name.
TEST_F(SharedNodesTest, a_connection_that_may_have_been_logged_in_is_lent_to_nobody) {
  answer_ = [&](const Words& words) {
    return words.front() == "HELLO" ? "-ERR Client names cannot contain spaces\r\n"
                                    : usual_answer(words);
  };
  SharingClient& one = connect();
  (void)one.ask({"HELLO", "3", "AUTH", "ann", "word", "SETNAME", "a b"});
  EXPECT_TRUE(one.is_lost);
  SharingClient& other = connect();
  EXPECT_EQ(other.ask({"MULTI"}), "+OK\r\n");
  EXPECT_EQ(other.ask({"EXEC"}), "*0\r\n");
  for (const auto& wire : wires_) {
    EXPECT_FALSE(wire->has_heard("HELLO") && wire->has_heard("MULTI"));
  }
}

TEST_F(SharedNodesTest, a_subscriber_has_a_connection_that_nobody_has_had) {
  SharingClient& one = connect();
  for (const char* const key : {"a", "b"}) {
    EXPECT_EQ(one.ask({"EVAL", "x", "1", key}), "+OK\r\n");
  }
  SharingClient& other = connect();
  loop_.as_batch([&] {
    other.connection->send(command({"EVAL", "x", "1", "a"}) + command({"EVAL", "x", "1", "b"}) +
                           command({"SUBSCRIBE", "c"}));
  });
  let_pass(loop_, milliseconds(20));
  EXPECT_FALSE(wire_of({"SUBSCRIBE", "c"}).has_heard("EVAL"));
}

TEST_F(SharedNodesTest, nothing_is_sent_between_the_parts_of_a_large_command) {
  SharingClient& one = connect();
  EXPECT_EQ(one.ask({"GET", "a"}), "$-1\r\n");
  EXPECT_EQ(one.ask({"PING"}), "+PONG\r\n");
  const std::uint16_t home = wire_of({"PING"}).node;
  const std::string key = home == kNodeA ? "a" : "b";
  const std::string large = command({"SET", key, std::string(200'000, 'x')});
  hung_ = {home};
  loop_.as_batch([&] { one.connection->send(command({"PING"}) + large.substr(0, 100'000)); });
  let_pass(loop_, 3 * Node::kSilentFor);
  wake_up();
  loop_.as_batch([&] { one.connection->send(large.substr(100'000)); });
  let_pass(loop_, milliseconds(100));
  EXPECT_EQ(wire_of({"SET", key, std::string(200'000, 'x')}).input, "");
}

TEST_F(SharedNodesTest, a_reply_that_has_begun_is_not_asked_for_again) {
  SharingClient& one = connect();
  answer_ = [](const Words& words) {
    return words.front() == "LOLWUT" ? "$10\r\n12345" : usual_answer(words);
  };
  EXPECT_EQ(one.ask({"LOLWUT"}), "$10\r\n12345");
  SharedWire& wire = wire_of({"LOLWUT"});
  hung_ = {wire.node};
  SharingClient& other = connect();
  other.send({"GET", wire.node == kNodeA ? "b" : "a"});
  let_pass(loop_, 4 * Node::kSilentFor);
  EXPECT_EQ(wires_that_heard("LOLWUT"), 1U);
  wire.peer.send("67890\r\n");
  let_pass(loop_, milliseconds(20));
  EXPECT_EQ(one.got, "67890\r\n");
}

// What is shared is read, since others wait behind it.
TEST_F(SharedNodesTest, who_does_not_read_has_so_much_kept_for_it_and_no_more) {
  answer_ = [](const Words& words) {
    return words.front() == "GET" ? "$100000\r\n" + std::string(100'000, 'x') + "\r\n"
                                  : usual_answer(words);
  };
  std::vector<SharingClient*> all{&connect(), &connect()};
  for (SharingClient* const client : all) {
    loop_.as_batch([&] { client->connection->set_reading(false); });
  }
  hung_ = {kNodeA};
  for (int i = 0; i < 1000; ++i) {
    for (SharingClient* const client : all) {
      client->send({"GET", "b"});
    }
  }
  wake_up();
  let_pass(loop_, std::chrono::seconds(1));
  EXPECT_LT(loop_.chunks().bytes_in_use(), 2 * RoutedTransport::kHeldMax);
  for (SharingClient* const client : all) {
    loop_.as_batch([&] { client->connection->set_reading(true); });
  }
  let_pass(loop_, std::chrono::seconds(1));
  EXPECT_TRUE(all[0]->is_lost || all[1]->is_lost);
}

TEST_F(SharedNodesTest, a_node_that_is_busy_says_so_and_the_client_goes_on) {
  const std::string busy = "-BUSY Redis is busy running a script\r\n";
  SharingClient& one = connect();
  EXPECT_EQ(one.ask({"EVAL", "x", "1", "b"}), "+OK\r\n");
  let_pass(loop_, milliseconds(100));
  SharingClient& other = connect();
  EXPECT_EQ(other.ask({"GET", "a"}), "$-1\r\n");
  answer_ = [&](const Words& words) {
    const bool is_asked_first = words.front() == "PING" && words.size() == 2;
    return is_asked_first || words.front() == "EVAL" ? busy : usual_answer(words);
  };
  EXPECT_EQ(other.ask({"EVAL", "x", "1", "b"}), busy);
  EXPECT_FALSE(other.is_lost);
  EXPECT_EQ(other.ask({"GET", "a"}), "$-1\r\n");
}

TEST_F(SharedNodesTest, who_is_welcome_no_more_is_closed_also_if_it_asks_for_nothing) {
  SharingClient& ann = connect();
  EXPECT_EQ(ann.ask({"AUTH", "ann", "word"}), "+OK\r\n");
  EXPECT_EQ(ann.ask({"GET", "b"}), "$-1\r\n");
  answer_ = [](const Words& words) {
    return words.front() == "AUTH" ? "-WRONGPASS no\r\n" : usual_answer(words);
  };
  for (const auto& wire : wires_) {
    if (wire->has_heard("GET")) {
      wire->peer.reset();
    }
  }
  let_pass(loop_, milliseconds(100));
  EXPECT_TRUE(ann.is_lost);
}

// Its greeting is not answered, and so it waits for what a new connection is told.
TEST_F(SharedNodesTest, what_is_shared_by_nobody_any_more_waits_for_nothing) {
  SharingClient& ann = connect();
  EXPECT_EQ(ann.ask({"AUTH", "ann", "word"}), "+OK\r\n");
  hung_ = {kNodeA, kNodeB};
  ann.send({"GET", "b"});
  let_pass(loop_, settings_.silence + milliseconds(50));
  loop_.as_batch([&] { ann.connection->close(); });
  let_pass(loop_, milliseconds(1));
  wake_up();
  EXPECT_EQ(connect().ask({"GET", "b"}, std::chrono::seconds(1)), "$-1\r\n");
}

}  // namespace
}  // namespace cuckooguard::routing
