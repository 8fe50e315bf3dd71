#include <vector>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "proxy/client_lists.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Lets virtual time pass, and what happens in it.
void wait(SimLoop& loop, milliseconds time) {
  bool is_over = false;
  loop.at(time, [&is_over] { is_over = true; });
  while (!is_over && loop.step()) {
  }
}

struct Member final : IdleClients::Member {
  void on_idle() override { ++idle; }
  int idle = 0;
};

class IdleClientsTest : public ::testing::Test {
 protected:
  IdleClientsTest() { limits_.idle_timeout = seconds(10); }

  SimLoop loop_{1};
  config::Limits limits_;
  IdleClients idle_{loop_, limits_};
  std::vector<Member> members_ = std::vector<Member>(3);
};

TEST_F(IdleClientsTest, each_is_told_when_its_own_time_is_over) {
  for (Member& member : members_) {
    idle_.add(member);
    wait(loop_, seconds(2));
  }
  idle_.touch(members_[0]);  // silent since 6 s, the others since 2 and 4
  wait(loop_, milliseconds(6200));
  EXPECT_EQ(members_[0].idle, 0);
  EXPECT_EQ(members_[1].idle, 1);
  EXPECT_EQ(members_[2].idle, 0);
  wait(loop_, seconds(2));
  EXPECT_EQ(members_[2].idle, 1);
  EXPECT_EQ(members_[0].idle, 0);
  wait(loop_, seconds(2));
  EXPECT_EQ(members_[0].idle, 1);
}

TEST_F(IdleClientsTest, who_stays_silent_is_asked_once_per_timeout) {
  idle_.add(members_[0]);
  wait(loop_, milliseconds(30'500));
  EXPECT_EQ(members_[0].idle, 3);
}

TEST_F(IdleClientsTest, who_has_left_is_not_told) {
  idle_.add(members_[0]);
  idle_.add(members_[1]);
  idle_.remove(members_[0]);
  idle_.remove(members_[0]);
  idle_.touch(members_[0]);
  wait(loop_, seconds(11));
  EXPECT_EQ(members_[0].idle, 0);
  EXPECT_EQ(members_[1].idle, 1);
}

TEST_F(IdleClientsTest, a_thousand_silent_clients_cost_a_few_timers) {
  std::vector<Member> many(1000);
  for (Member& member : many) {
    idle_.add(member);
    wait(loop_, milliseconds(1));
  }
  const std::uint64_t before = loop_.batches();
  wait(loop_, seconds(11));
  for (const Member& member : many) {
    EXPECT_EQ(member.idle, 1);
  }
  EXPECT_LE(loop_.batches() - before, 15U);
}

TEST_F(IdleClientsTest, without_clients_and_without_a_timeout_there_is_no_timer) {
  idle_.add(members_[0]);
  idle_.remove(members_[0]);
  wait(loop_, seconds(30));
  EXPECT_EQ(loop_.batches(), 1U);
  limits_.idle_timeout = milliseconds(0);
  idle_.add(members_[1]);
  wait(loop_, seconds(30));
  EXPECT_EQ(loop_.batches(), 1U);
}

TEST_F(IdleClientsTest, another_timeout_holds_for_those_that_are_there) {
  idle_.add(members_[0]);
  wait(loop_, seconds(4));
  limits_.idle_timeout = seconds(5);
  idle_.timeout_changed();
  wait(loop_, milliseconds(1200));
  EXPECT_EQ(members_[0].idle, 1);
  limits_.idle_timeout = milliseconds(0);
  idle_.timeout_changed();
  wait(loop_, seconds(30));
  EXPECT_EQ(members_[0].idle, 1);
  limits_.idle_timeout = seconds(5);
  idle_.timeout_changed();
  idle_.add(members_[0]);
  idle_.add(members_[0]);
  wait(loop_, seconds(4));
  EXPECT_EQ(members_[0].idle, 1) << "its silence begins now";
  wait(loop_, milliseconds(1200));
  EXPECT_EQ(members_[0].idle, 2);
}

class IdleClientTest : public ProxiedClient {
 protected:
  IdleClientTest() { settings_.limits.idle_timeout = seconds(10); }
  void wait(milliseconds time) { proxy::wait(loop_, time); }
};

const std::string kPing = "*1\r\n$4\r\nPING\r\n";
const std::string kSubscribe = "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n";
const std::string kSubscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";

TEST_F(IdleClientTest, one_that_says_nothing_is_closed_and_its_connection_to_redis_with_it) {
  connect_both();
  wait(milliseconds(9900));
  EXPECT_EQ(sessions(), 1U);
  wait(milliseconds(300));
  EXPECT_TRUE(client_is_closed());
  EXPECT_TRUE(upstream_is_closed_);
  EXPECT_EQ(sessions(), 0U);
  EXPECT_EQ(total_.open, 0U);
}

TEST_F(IdleClientTest, one_that_is_silent_while_redis_is_down_is_closed_too) {
  connect();
  redis_refuses();
  wait(milliseconds(10'200));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(IdleClientTest, answers_commands_and_messages_keep_a_client) {
  connect_both();
  client_sends("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
  redis_sends("%1\r\n+proto\r\n:3\r\n");
  wait(seconds(8));
  client_sends(kAbsentGet);
  wait(seconds(8));
  client_sends("*1\r\n");  // not yet a command
  wait(seconds(8));
  redis_sends(">2\r\n+invalidate\r\n_\r\n");
  wait(seconds(8));
  EXPECT_EQ(sessions(), 1U);
  wait(seconds(3));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(IdleClientTest, one_that_waits_for_redis_is_not_idle_before_it_has_its_reply) {
  connect_both();
  client_sends("*3\r\n$5\r\nBLPOP\r\n$1\r\nq\r\n$1\r\n0\r\n");
  wait(seconds(100));
  EXPECT_EQ(sessions(), 1U);
  redis_sends("*2\r\n$1\r\nq\r\n$1\r\nx\r\n");
  wait(seconds(9));
  EXPECT_EQ(sessions(), 1U);
  wait(seconds(2));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(IdleClientTest, subscribers_are_never_idle_and_who_has_unsubscribed_is) {
  connect_both();
  client_sends(kSubscribe);
  redis_sends(kSubscribed);
  wait(seconds(100));
  EXPECT_EQ(sessions(), 1U);
  client_sends("*1\r\n$11\r\nUNSUBSCRIBE\r\n");
  redis_sends("*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n");
  wait(milliseconds(10'200));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(IdleClientTest, who_may_be_waiting_unseen_is_never_idle) {
  connect_both();
  client_sends("CLIENT REPLY OFF\r\nBLPOP q 0\r\n");
  wait(seconds(100));
  EXPECT_EQ(sessions(), 1U);
  client_sends("CLIENT REPLY ON\r\nMONITOR\r\n");
  redis_sends("+OK\r\n+OK\r\n");
  wait(seconds(100));
  EXPECT_EQ(sessions(), 1U);
}

TEST_F(IdleClientTest, one_that_does_not_read_its_replies_is_closed) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1000;
  connect_both();
  client_sends(kPing);
  redis_sends("$5000\r\n" + std::string(5000, 'v') + "\r\n");
  wait(milliseconds(10'200));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(IdleClientTest, one_that_stops_within_a_reply_too_large_to_hold_is_closed) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1000;
  settings_.limits.client_output_soft = 100'000;
  connect_both();
  client_sends(kPing);
  redis_sends("$3000000\r\n" + std::string(3'000'000, 'v') + "\r\n");
  wait(milliseconds(10'200));
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(IdleClientTest, without_a_timeout_everybody_may_stay) {
  settings_.limits.idle_timeout = milliseconds(0);
  connect_both();
  wait(std::chrono::hours(1000));
  EXPECT_EQ(sessions(), 1U);
}

}  // namespace
}  // namespace cuckooguard::proxy
