// A client whose own command of the guard's must wait: its later commands wait with it, in order,
// and nobody else does.
#include <string>

#include <gtest/gtest.h>

#include "guard/told_sources.h"
#include "proxied_client.h"
#include "proxy/session.h"

namespace cuckooguard::proxy {
namespace {

using guard::Reached;
using std::chrono::milliseconds;

const std::string kPing = "*1\r\n$4\r\nPING\r\n";
const std::string kWait = "GUARD.WAIT shop 0-1-75 500\r\n";
const std::string kCheck = "GUARD.CHECK user:999\r\n";
const std::string kChecked = "*1\r\n:0\r\n";

class SessionHeldTest : public ProxiedClient {
 protected:
  SessionHeldTest() { shop_.process.sources = &sources_; }

  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(5));
  }
  void redis_says(std::string_view bytes) {
    redis_.send(bytes);
    pass(loop_, milliseconds(5));
  }
  void source_arrives() {
    sources_.all[0].reached = Reached::yes;
    pass(loop_, milliseconds(2));
  }

  guard::ToldSources sources_{{{.name = "shop", .status = {}}}};
};

TEST_F(SessionHeldTest, a_position_that_is_reached_is_answered_at_once) {
  connect_both();
  sources_.all[0].reached = Reached::yes;
  const io::TimePoint before = loop_.now();
  client_sends(kWait + std::string(kAbsentGet));
  EXPECT_EQ(client_got(), ":1\r\n" + std::string(kNil));
  EXPECT_EQ(loop_.now(), before) << "without any timer";
  EXPECT_EQ(redis_got(), "");
}

TEST_F(SessionHeldTest, what_is_behind_a_wait_is_neither_answered_nor_forwarded_before_it) {
  connect_both();
  client_says(kPing + kWait + std::string(kAbsentGet) + kPing);
  client_says(kPing + kCheck);
  redis_says("+FIRST\r\n");
  EXPECT_EQ(client_.read(), "+FIRST\r\n");
  EXPECT_EQ(redis_.read(), kPing);
  source_arrives();
  EXPECT_EQ(client_.read(), ":1\r\n" + std::string(kNil));
  EXPECT_EQ(redis_.read(), kPing + kPing);
  redis_says("+SECOND\r\n+THIRD\r\n");
  EXPECT_EQ(client_.read(), "+SECOND\r\n+THIRD\r\n" + kChecked);
}

TEST_F(SessionHeldTest, a_wait_behind_a_reply_of_redis_is_asked_meanwhile_and_answered_after_it) {
  connect_both();
  client_says(kPing + kWait);
  source_arrives();
  EXPECT_EQ(client_.read(), "");
  redis_says("+PONG\r\n");
  EXPECT_EQ(client_.read(), "+PONG\r\n:1\r\n");
}

TEST_F(SessionHeldTest, when_the_time_is_over_the_client_goes_on) {
  connect_both();
  client_says(kWait + std::string(kAbsentGet));
  pass(loop_, milliseconds(490));
  EXPECT_EQ(client_.read(), "");
  pass(loop_, milliseconds(10));
  EXPECT_EQ(client_.read(), ":0\r\n" + std::string(kNil));
  const int asked = sources_.asked;
  pass(loop_, milliseconds(100));
  EXPECT_EQ(sources_.asked, asked) << "nobody asks any more";
}

TEST_F(SessionHeldTest, one_wait_may_follow_another) {
  connect_both();
  client_says(kWait + kWait + kPing);
  pass(loop_, milliseconds(500));
  EXPECT_EQ(client_.read(), ":0\r\n");
  pass(loop_, milliseconds(400));
  EXPECT_EQ(redis_.read(), "");
  pass(loop_, milliseconds(100));
  EXPECT_EQ(client_.read(), ":0\r\n");
  EXPECT_EQ(redis_.read(), kPing);
}

TEST_F(SessionHeldTest, a_client_that_goes_away_while_it_waits_is_gone_at_once) {
  connect_both();
  client_says(kWait);
  client_.reset();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(sessions(), 0U);
  EXPECT_TRUE(upstream_is_closed_);
  pass(loop_, milliseconds(600));
}

TEST_F(SessionHeldTest, a_client_that_sends_no_more_is_let_go_as_by_redis) {
  connect_both();
  client_says(kPing + kWait + kPing);
  client_.finish();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(redis_.read(), kPing);
  EXPECT_TRUE(redis_.at_end()) << "Redis hears of the end";
  redis_.send("+PONG\r\n");
  redis_.close();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(client_.read(), "+PONG\r\n");
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionHeldTest, a_client_that_has_sent_all_before_its_wait_begins_is_let_go) {
  connect_both();
  client_says("SELECT 0\r\n" + kWait);
  client_.finish();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(redis_.read(), "SELECT 0\r\n");
  redis_says("+OK\r\n");
  EXPECT_EQ(client_.read(), "+OK\r\n");
  EXPECT_TRUE(redis_.at_end());
}

TEST_F(SessionHeldTest, a_redis_that_dies_takes_a_waiting_client_along) {
  connect_both();
  client_says(kWait);
  redis_.reset();
  pass(loop_, milliseconds(5));
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionHeldTest, what_is_sent_behind_a_wait_is_read_up_to_a_limit) {
  connect_both();
  loop_.weather().capacity_min = loop_.weather().capacity_max = 20'000;
  client_says(kWait);
  const std::string set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20\r\nxxxxxxxxxxxxxxxxxxxx\r\n";
  std::string all;
  for (int i = 0; i < 50'000; ++i) {
    all += set;
  }
  client_says(all);
  EXPECT_LE(read_of_client_, kWait.size() + Session::kHeldBytesMax + io::Loop::kReadBufferBytes);
  sources_.all[0].reached = Reached::yes;
  EXPECT_EQ(redis_got_all(), all);
}

TEST_F(SessionHeldTest, an_idle_timeout_does_not_end_a_client_that_waits) {
  settings_.limits.idle_timeout = milliseconds(2000);
  connect_both();
  client_says("GUARD.WAIT shop 0-1-75 9000\r\n");
  pass(loop_, milliseconds(5000));
  EXPECT_EQ(sessions(), 1U);
  source_arrives();
  EXPECT_EQ(client_.read(), ":1\r\n");
}

TEST_F(SessionHeldTest, an_own_command_waits_for_what_changes_the_connection) {
  connect_both();
  client_says("SELECT 2\r\nGUARD.CHECK cart:999 user:999\r\n" + kPing);
  EXPECT_EQ(redis_.read(), "SELECT 2\r\n");
  EXPECT_EQ(client_.read(), "");
  redis_says("+OK\r\n");
  EXPECT_EQ(client_.read(), "+OK\r\n*2\r\n:0\r\n:1\r\n");
  EXPECT_EQ(redis_.read(), kPing);
}

TEST_F(SessionHeldTest, an_own_command_in_front_of_the_end_is_still_answered) {
  connect_both();
  client_says("SELECT 0\r\n" + kCheck);
  client_.finish();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(redis_.read(), "SELECT 0\r\n");
  EXPECT_FALSE(redis_.at_end());
  redis_says("+OK\r\n");
  EXPECT_EQ(client_.read(), "+OK\r\n" + kChecked);
  EXPECT_TRUE(redis_.at_end());
}

TEST_F(SessionHeldTest, a_pipeline_of_own_commands_longer_than_all_limits_is_answered) {
  settings_.limits.client_output_soft = 10'000;
  settings_.limits.inflight_per_client = 50;
  connect_both();
  std::string commands;
  std::string expected;
  for (int i = 0; i < 2'000; ++i) {
    commands += kPing + kCheck;
    expected += "+PONG\r\n" + kChecked;
  }
  client_.send(commands);
  std::string got;
  std::size_t pings = 0;
  for (int round = 0; round < 500 && pings < 2'000; ++round) {
    pass(loop_, milliseconds(1));
    const std::size_t now = redis_.read().size() / kPing.size();
    pings += now;
    for (std::size_t i = 0; i < now; ++i) {
      redis_.send("+PONG\r\n");
    }
    got += client_.read();
  }
  got += client_got_all();
  EXPECT_EQ(got, expected);
}

// What would settle it waits behind replies that the client does not read.
TEST_F(SessionHeldTest, an_own_command_of_a_client_that_does_not_read_is_left_to_redis) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 20'000;
  settings_.limits.client_output_soft = 10'000;
  connect_both();
  client_says(kPing + "SELECT 0\r\n" + kCheck + kPing);
  EXPECT_EQ(redis_.read(), kPing + "SELECT 0\r\n");
  redis_says("$100000\r\n" + std::string(100'000, 'v') + "\r\n");
  EXPECT_EQ(redis_.read(), kCheck + kPing);
}

TEST_F(SessionHeldTest, inside_multi_and_on_unread_connections_redis_has_its_say) {
  connect_both();
  client_says("MULTI\r\n" + kCheck);
  EXPECT_EQ(redis_.read(), "MULTI\r\n");
  redis_says("+OK\r\n");
  EXPECT_EQ(redis_.read(), kCheck);
  redis_says("-ERR unknown command\r\n");
  client_says("MONITOR\r\n" + kCheck);
  EXPECT_EQ(redis_.read(), "MONITOR\r\n" + kCheck);
}

}  // namespace
}  // namespace cuckooguard::proxy
