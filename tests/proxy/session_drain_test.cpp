// A client is let go where its commands end, whatever it is in the middle of: what was read is
// carried out and replied to, and nothing else is.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "guard/told_sources.h"
#include "proxied_client.h"
#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::milliseconds;

const std::string kPing = "*1\r\n$4\r\nPING\r\n";
const std::string kPong = "+PONG\r\n";
const std::string kSet = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n";
const std::string kOk = "+OK\r\n";

// More than a farewell lasts, less than a session's own patience.
constexpr milliseconds kLong{500};

class SessionDrainTest : public ProxiedClient {
 protected:
  void drain() {
    loop_.as_batch([this] { clients_.drain([this] { ++emptied_; }); });
  }
  void drained() {
    drain();
    pass(loop_, kLong);
  }
  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(5));
  }
  void redis_says(std::string_view bytes) {
    redis_.send(bytes);
    pass(loop_, milliseconds(5));
  }
  void expect_gone() {
    pass(loop_, kLong);
    EXPECT_TRUE(client_.at_end());
    EXPECT_FALSE(client_.is_reset());
    EXPECT_EQ(sessions(), 0U);
    EXPECT_TRUE(upstream_is_closed_);
    EXPECT_EQ(emptied_, 1);
  }
  void expect_here() {
    EXPECT_FALSE(client_is_closed());
    EXPECT_EQ(sessions(), 1U);
    EXPECT_EQ(emptied_, 0);
  }

  int emptied_ = 0;
};

TEST_F(SessionDrainTest, without_clients_it_is_over_at_once) {
  drain();
  EXPECT_EQ(emptied_, 1);
}

TEST_F(SessionDrainTest, who_asks_for_nothing_is_let_go_at_once) {
  connect_both();
  drained();
  EXPECT_EQ(client_.read(), "");
  expect_gone();
}

TEST_F(SessionDrainTest, who_has_closed_is_not_waited_for) {
  connect_both();
  drain();
  pass(loop_, milliseconds(5));
  EXPECT_TRUE(client_.at_end());
  EXPECT_EQ(sessions(), 1U) << "it may be in the middle of sending";
  client_.close();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionDrainTest, a_command_that_was_read_gets_its_reply_first) {
  connect_both();
  client_sends(kPing + std::string(kAbsentGet));
  drained();
  expect_here();
  redis_says(kPong);
  EXPECT_EQ(client_.read(), kPong + std::string(kNil));
  expect_gone();
}

TEST_F(SessionDrainTest, what_had_come_before_is_carried_out_although_nobody_had_read_it) {
  connect_both();
  client_.send(kPing);
  drained();
  EXPECT_EQ(redis_.read(), kPing);
  redis_says(kPong);
  EXPECT_EQ(client_.read(), kPong);
  expect_gone();
}

TEST_F(SessionDrainTest, what_comes_behind_the_end_is_never_carried_out) {
  connect_both();
  client_sends(kPing);
  drained();
  client_says(kSet);
  redis_says(kPong);
  EXPECT_EQ(client_.read(), kPong);
  client_says(kSet + std::string(kAbsentGet));
  EXPECT_EQ(client_.read(), "");
  EXPECT_FALSE(client_.is_reset())
      << "it would take a reply with it that the client has not received";
  EXPECT_EQ(redis_.read(), kPing);
  expect_gone();
}

// A world of its own, for tests that need many.
struct Lone {
  explicit Lone(guard::GuardedShop& shop)
      : clients({loop, *shop.guard, *shop.commands, settings, total}) {
    loop.on_connect([this](SimTransport& upstream) { upstream.establish(redis); });
    auto transport = loop.accept(client);
    loop.as_batch([&] { clients.admit(std::move(transport)); });
    loop.run();
  }
  void drain() {
    loop.as_batch([this] { clients.drain([] {}); });
    pass(loop, kLong);
  }
  void client_says(std::string_view bytes) {
    client.send(bytes);
    loop.run(milliseconds(0));
  }
  void redis_says(std::string_view bytes) {
    redis.send(bytes);
    pass(loop, kLong);
  }
  bool is_gone() const { return client.at_end() && clients.count() == 0 && loop.failure().empty(); }

  SimLoop loop{1};
  Session::Settings settings{.upstream = {.mode = config::UpstreamMode::pinned}};
  ClientCount total;
  SimPeer client{loop};
  SimPeer redis{loop};
  Clients clients;
};

TEST_F(SessionDrainTest, a_command_of_which_a_part_was_read_is_waited_for_at_every_cut) {
  const std::string large =
      "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$70000\r\n" + std::string(70'000, 'x') + "\r\n";
  struct Step {
    std::string command;
    std::string reply;
    bool is_redis = true;
  };
  const std::vector<Step> steps{{kPing, kPong},
                                {std::string(kAbsentGet), std::string(kNil), false},
                                {"PING\r\n", kPong},
                                {kSet, kOk},
                                {large, kOk}};
  std::string pipeline;
  for (const Step& step : steps) {
    pipeline += step.command;
  }
  for (std::size_t cut = 1; cut <= pipeline.size(); cut += cut < 150 ? 1 : 6'997) {
    // Within a command: what comes with its end is read with it.
    std::string heard;
    std::string said;
    std::string replies;
    std::size_t end = 0;
    for (const Step& step : steps) {
      if (end == cut) {
        break;
      }
      end += step.command.size();
      heard += step.is_redis ? step.command : "";
      said += step.is_redis ? step.reply : "";
      replies += step.reply;
    }
    Lone lone(shop_);
    lone.client_says(pipeline.substr(0, cut));
    lone.drain();
    lone.client_says(pipeline.substr(cut));
    pass(lone.loop, kLong);
    EXPECT_EQ(lone.redis.read(), heard) << cut;
    lone.redis_says(said);
    EXPECT_EQ(lone.client.read(), replies) << cut;
    EXPECT_TRUE(lone.is_gone()) << cut;
  }
}

TEST_F(SessionDrainTest, a_reply_of_which_a_part_has_come_is_waited_for_at_every_cut) {
  const std::string reply = "*2\r\n$5\r\nvalue\r\n:1\r\n";
  for (std::size_t cut = 0; cut < reply.size(); ++cut) {
    Lone lone(shop_);
    lone.client_says(kPing + std::string(kAbsentGet));
    lone.redis.send(reply.substr(0, cut));
    lone.loop.run();
    lone.drain();
    EXPECT_FALSE(lone.client.at_end()) << cut;
    lone.redis_says(reply.substr(cut));
    EXPECT_EQ(lone.client.read(), reply + std::string(kNil)) << cut;
    EXPECT_TRUE(lone.is_gone()) << cut;
  }
}

TEST_F(SessionDrainTest, a_client_that_does_not_read_gets_all_its_replies) {
  loop_.weather().capacity_min = 100;
  loop_.weather().capacity_max = 100;
  connect_both();
  const std::string reply = "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  client_sends(kExistingGet);
  redis_says(reply);
  drained();
  expect_here();
  std::string got;
  for (int reads = 0; reads < 100 && !client_.at_end(); ++reads) {
    got += client_.read();
    pass(loop_, milliseconds(5));
  }
  EXPECT_EQ(got, reply);
  expect_gone();
}

TEST_F(SessionDrainTest, a_transaction_is_waited_for) {
  connect_both();
  client_says("MULTI\r\n");
  drained();
  redis_says(kOk);
  client_says("INCR n\r\n");
  redis_says("+QUEUED\r\n");
  pass(loop_, kLong);
  expect_here();
  client_says("EXEC\r\n");
  redis_says("*1\r\n:1\r\n");
  EXPECT_EQ(client_.read(), kOk + "+QUEUED\r\n*1\r\n:1\r\n");
  expect_gone();
}

TEST_F(SessionDrainTest, so_is_one_that_only_watches_yet) {
  connect_both();
  client_says("WATCH k\r\n");
  redis_says(kOk);
  drained();
  expect_here();
  client_says("UNWATCH\r\n");
  redis_says(kOk);
  EXPECT_EQ(client_.read(), kOk + kOk);
  expect_gone();
}

TEST_F(SessionDrainTest, a_subscriber_is_let_go_between_two_messages) {
  const std::string message = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n";
  connect_both();
  client_says("SUBSCRIBE ch\r\n");
  redis_says("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n" + message.substr(0, 20));
  drained();
  expect_here();
  redis_says(message.substr(20));
  EXPECT_EQ(client_.read(), "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n" + message);
  expect_gone();
}

TEST_F(SessionDrainTest, where_nobody_knows_when_redis_is_done_it_is_told_of_the_end) {
  for (const std::string command : {"MONITOR\r\n", "CLIENT REPLY OFF\r\n"}) {
    Lone lone(shop_);
    lone.client_says(command + kSet);
    lone.drain();
    EXPECT_FALSE(lone.client.at_end());
    EXPECT_EQ(lone.redis.read(), command + kSet);
    EXPECT_TRUE(lone.redis.at_end()) << "as if the client had said so";
    lone.redis.send("+what it had to say\r\n");
    lone.redis.close();
    pass(lone.loop, kLong);
    EXPECT_EQ(lone.client.read(), "+what it had to say\r\n");
    EXPECT_TRUE(lone.is_gone());
  }
}

TEST_F(SessionDrainTest, who_comes_late_is_served_and_let_go) {
  drain();
  client_.send(kPing);
  auto transport = loop_.accept(client_);
  loop_.as_batch([&] { clients_.admit(std::move(transport)); });
  (*upstream_.lock())->establish(redis_);
  pass(loop_, milliseconds(5));
  EXPECT_EQ(redis_.read(), kPing);
  redis_says(kPong);
  EXPECT_EQ(client_.read(), kPong);
  pass(loop_, kLong);
  EXPECT_TRUE(client_.at_end());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionDrainTest, a_client_that_never_stops_writing_is_let_go) {
  connect_both();
  drain();
  std::size_t sent = 0;
  for (; sent < 1000 && !client_.at_end(); ++sent) {
    client_.send(kPing);
    pass(loop_, milliseconds(1));
    client_.read();
    const std::size_t commands = redis_.read().size() / kPing.size();
    for (std::size_t i = 0; i < commands; ++i) {
      redis_.send(kPong);
    }
  }
  EXPECT_LT(sent, 100U);
  expect_gone();
}

TEST_F(SessionDrainTest, an_own_command_that_waits_is_waited_for) {
  guard::ToldSources sources{{{.name = "shop", .status = {}}}};
  shop_.process.sources = &sources;
  connect_both();
  client_says("GUARD.WAIT shop 0-1-75 60000\r\n" + std::string(kAbsentGet));
  drained();
  expect_here();
  sources.all[0].reached = guard::Reached::yes;
  pass(loop_, milliseconds(5));
  EXPECT_EQ(client_.read(), ":1\r\n" + std::string(kNil));
  expect_gone();
}

TEST_F(SessionDrainTest, a_redis_that_is_gone_ends_it_as_always) {
  connect_both();
  client_says(std::string(kAbsentGet) + kPing);
  drained();
  redis_.close();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(client_.read(), kNil);
  expect_gone();
}

class SessionCutOffTest : public SessionDrainTest {
 protected:
  void cut_off() {
    loop_.as_batch([this] { clients_.cut_off(); });
    pass(loop_, milliseconds(5));
  }
};

// The element that Redis has taken from its list just then is in this reply, and nowhere else.
TEST_F(SessionCutOffTest, a_blocked_client_still_gets_what_redis_has_taken_for_it) {
  connect_both();
  client_says("BLPOP queue 0\r\n");
  drained();
  expect_here();
  redis_.send("*2\r\n$5\r\nqueue\r\n$3\r\njob\r\n");
  cut_off();
  EXPECT_TRUE(redis_.read() == "BLPOP queue 0\r\n" && redis_.at_end());
  redis_.close();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(client_.read(), "*2\r\n$5\r\nqueue\r\n$3\r\njob\r\n");
  expect_gone();
}

TEST_F(SessionCutOffTest, a_redis_that_says_nothing_is_not_waited_for_twice) {
  connect_both();
  client_says("BLPOP queue 0\r\n");
  drained();
  cut_off();
  EXPECT_EQ(sessions(), 1U);
  cut_off();
  EXPECT_EQ(sessions(), 0U);
  EXPECT_TRUE(client_is_closed());
}

TEST_F(SessionCutOffTest, half_a_command_is_not_carried_out) {
  connect_both();
  client_says(kSet.substr(0, 20));
  drained();
  cut_off();
  EXPECT_EQ(redis_.read(), "");
  EXPECT_TRUE(redis_.at_end());
}

class SharedDrainTest : public SharingClients {
 protected:
  void drain() {
    loop_.as_batch([this] { clients_.drain([this] { ++emptied_; }); });
    pass(loop_, kLong);
  }
  void say(std::size_t client, std::string_view bytes) {
    peers_.at(client).send(bytes);
    pass(loop_, milliseconds(5));
  }
  void redis_says(std::size_t upstream, std::string_view bytes) {
    redis(upstream).send(bytes);
    pass(loop_, milliseconds(5));
  }

  int emptied_ = 0;
};

TEST_F(SharedDrainTest, each_is_let_go_where_its_own_commands_end) {
  const std::size_t one = connect();
  const std::size_t other = connect();
  const std::size_t idle = connect();
  send(one, command("INCR a"));
  send(other, command("INCR b"));
  drain();
  EXPECT_TRUE(peers_[idle].at_end());
  EXPECT_FALSE(peers_[one].at_end());
  redis_says(0, ":1\r\n");
  pass(loop_, kLong);
  EXPECT_EQ(peers_[one].read(), ":1\r\n");
  EXPECT_TRUE(peers_[one].at_end());
  EXPECT_FALSE(peers_[other].at_end());
  redis_says(0, ":2\r\n");
  pass(loop_, kLong);
  EXPECT_EQ(peers_[other].read(), ":2\r\n");
  EXPECT_TRUE(peers_[other].at_end());
  EXPECT_EQ(emptied_, 1);
}

// EVAL waits for INCR's reply before it gets a connection of its own.
TEST_F(SharedDrainTest, a_command_that_is_held_back_was_read_and_is_carried_out) {
  const std::size_t one = connect();
  const std::string script = command("EVAL return 0");
  send(one, command("INCR a"));
  say(one, script + command("INCR c"));
  drain();
  EXPECT_EQ(redis_has_got(0), command("INCR a"));
  redis_says(0, ":1\r\n");
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_has_got(1), script + command("INCR c"));
  redis_says(1, ":0\r\n:1\r\n");
  pass(loop_, kLong);
  EXPECT_EQ(peers_[one].read(), ":1\r\n:0\r\n:1\r\n");
  EXPECT_TRUE(peers_[one].at_end());
  EXPECT_EQ(emptied_, 1);
}

TEST_F(SharedDrainTest, who_is_held_back_for_good_is_closed_when_patience_is_over) {
  const std::size_t one = connect();
  send(one, command("INCR a"));
  say(one, command("EVAL return 0"));
  drain();
  loop_.as_batch([this] { clients_.cut_off(); });
  pass(loop_, kLong);
  EXPECT_TRUE(is_closed(one));
  EXPECT_EQ(emptied_, 1);
}

}  // namespace
}  // namespace cuckooguard::proxy
