// Sessions in `mode: shared` whose connection to Redis says nothing more: who waits on it does so
// alone, and for a time that is known.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kOk = "+OK\r\n";
const std::string kPong = "+PONG\r\n";

class Stalled : public SharingClients {
 protected:
  Stalled() { settings_.upstream.silence = seconds(3); }

  void run(milliseconds time) { pass(loop_, time); }
  // What is sent to Redis from now on is lost on the way.
  void lose(std::size_t upstream) { redis(upstream).stall(hours(1)); }
  // Sends it where Redis has been silent long enough, and brings up the spare.
  void send_by_spare(std::size_t client, const std::string& bytes, std::size_t spare) {
    run(milliseconds(20));
    peers_.at(client).send(bytes);
    run(milliseconds(1));
    ASSERT_GT(upstreams(), spare);
    EXPECT_EQ(redis_has_got(spare), kProbe);
    answer(spare, kPong);
    EXPECT_EQ(redis_has_got(spare), bytes);
  }
  void answer(std::size_t upstream, const std::string& bytes) {
    redis(upstream).send(bytes);
    run(milliseconds(1));
  }
  std::string has_got(std::size_t client) { return peers_.at(client).read(); }
  bool has_been_closed(std::size_t client) {
    return peers_.at(client).at_end() || peers_.at(client).is_reset();
  }
};

TEST_F(Stalled, what_the_network_loses_without_a_word_is_given_up_and_others_go_elsewhere) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET x"));
  answer(0, "$-1\r\n");
  EXPECT_EQ(has_got(a), "$-1\r\n");
  lose(0);
  peers_.at(a).send(command("GET x"));
  send_by_spare(b, command("GET y"), 1);
  answer(1, "$1\r\ny\r\n");
  EXPECT_EQ(has_got(b), "$1\r\ny\r\n");
  run(milliseconds(2900));
  EXPECT_FALSE(has_been_closed(a));
  run(milliseconds(900));
  EXPECT_TRUE(has_been_closed(a));
  EXPECT_FALSE(has_been_closed(b));
}

TEST_F(Stalled, who_acknowledges_and_does_not_reply_is_waited_for) {
  const auto a = connect();
  peers_.at(a).send(command("GET x"));
  run(seconds(30));
  EXPECT_FALSE(has_been_closed(a));
  answer(0, "$1\r\nx\r\n");
  EXPECT_EQ(has_got(a), "$1\r\nx\r\n");
}

// A relay goes on acknowledging for a Redis that is there no more.
TEST_F(Stalled, an_old_connection_is_given_up_when_a_younger_one_has_answered) {
  const auto a = connect();
  const auto b = connect();
  peers_.at(a).send(command("SET x 1"));
  send_by_spare(b, command("SET y 1"), 1);
  run(seconds(10));
  EXPECT_FALSE(has_been_closed(a)) << "CLIENT PAUSE WRITE: no write is answered";
  answer(1, kOk);
  EXPECT_EQ(has_got(b), kOk);
  run(seconds(3));
  EXPECT_TRUE(has_been_closed(a));
  EXPECT_FALSE(has_been_closed(b));
}

// It has not heard what has come meanwhile.
TEST_F(Stalled, a_process_that_was_suspended_gives_up_nothing_before_it_has_read) {
  const auto a = connect();
  const auto b = connect();
  peers_.at(a).send(command("SET x 1"));
  send_by_spare(b, command("SET y 1"), 1);
  answer(1, kOk);
  redis(0).send(kOk);
  loop_.pass(seconds(5));
  run(milliseconds(1));
  EXPECT_EQ(has_got(a), kOk);
  EXPECT_FALSE(has_been_closed(a));
}

TEST_F(Stalled, what_stands_still_is_given_up_though_the_process_was_suspended) {
  const auto a = connect();
  const auto b = connect();
  peers_.at(a).send(command("SET x 1"));
  send_by_spare(b, command("SET y 1"), 1);
  answer(1, kOk);
  loop_.pass(seconds(5));
  run(seconds(3));
  EXPECT_TRUE(has_been_closed(a));
  EXPECT_FALSE(has_been_closed(b));
}

TEST_F(Stalled, one_spare_after_the_other_serves_while_those_before_are_silent) {
  const auto a = connect();
  peers_.at(a).send(command("GET 0"));
  for (std::size_t lost = 1; lost < 6; ++lost) {
    run(milliseconds(400));
    const auto next = connect();
    send_by_spare(next, command("GET " + std::to_string(lost)), lost);
  }
  const auto last = connect();
  run(milliseconds(400));
  send_by_spare(last, command("GET z"), 6);
  answer(6, "$1\r\nz\r\n");
  EXPECT_EQ(has_got(last), "$1\r\nz\r\n");
}

TEST_F(Stalled, writes_that_are_postponed_under_load_close_nobody_and_take_few_connections) {
  const auto first = connect();
  peers_.at(first).send(command("SET x 1"));
  for (int i = 0; i < 500; ++i) {
    const auto next = connect();
    peers_.at(next).send(command("SET x 1"));
    for (std::size_t spare = 1; spare < upstreams(); ++spare) {
      if (redis_has_got(spare).starts_with(kProbe)) {
        answer(spare, kPong);
      }
    }
    run(milliseconds(20));
  }
  EXPECT_LE(upstreams(), upstream::SharedUpstream::kPipesMax);
  EXPECT_EQ(clients_.count(), 501U);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < upstreams(); ++i) {
      std::string replies;
      for (int reply = 0; reply < 501; ++reply) {
        replies += kOk;
      }
      replies.resize(redis_has_got(i).size() / command("SET x 1").size() * kOk.size());
      answer(i, replies);
    }
  }
  EXPECT_EQ(clients_.count(), 501U);
}

class Greeting : public Stalled {
 protected:
  // Of a client that has logged in: its writes have a connection of their own, the third.
  std::size_t write_behind_login() {
    const auto client = connect();
    send(client, command("AUTH word"));
    answer(0, kOk);
    answer(1, kOk);
    EXPECT_EQ(has_got(client), kOk);
    peers_.at(client).send(command("SET x 1"));
    run(milliseconds(1));
    EXPECT_EQ(redis_has_got(2), command("AUTH word"));
    return client;
  }
};

TEST_F(Greeting, without_an_answer_is_said_again_where_a_new_connection_is_answered) {
  const auto a = write_behind_login();
  login_probe_reply_ = "-NOAUTH Authentication required.\r\n";
  run(seconds(4));
  ASSERT_EQ(upstreams(), 4U);
  EXPECT_EQ(redis_has_got(3), command("AUTH word"));
  answer(3, kOk);
  EXPECT_EQ(redis_has_got(3), command("SET x 1"));
  answer(3, kOk);
  EXPECT_EQ(has_got(a), kOk);
}

TEST_F(Greeting, is_waited_for_while_nobody_is_answered) {
  const auto a = write_behind_login();
  login_probe_reply_ = "";
  run(seconds(20));
  EXPECT_FALSE(has_been_closed(a));
  EXPECT_EQ(upstreams(), 3U);
  answer(2, kOk);
  EXPECT_EQ(redis_has_got(2), command("SET x 1"));
}

// The network may have lost it alone, while all others could be served.
TEST_F(Stalled, beside_a_login_probe_that_is_silent_there_is_another) {
  const auto a = connect();
  send(a, command("GET x"));
  answer(0, "$-1\r\n");
  run(seconds(2));
  EXPECT_EQ(has_got(a), "$-1\r\n");
  login_probe_reply_ = "";
  const auto b = connect();
  peers_.at(b).send(command("GET y"));
  run(milliseconds(200));
  const std::size_t probes = login_probes();
  EXPECT_EQ(redis_has_got(0), command("GET x"));
  login_probe_reply_ = kPong;
  run(milliseconds(100));
  EXPECT_EQ(login_probes(), probes + 1);
  EXPECT_EQ(redis_has_got(0), command("GET y"));
}

// A connection that others have had is asked whether it lives, and replaced if it does not.
TEST_F(Stalled, a_lease_that_has_died_costs_its_next_client_no_more_than_the_time_to_notice) {
  const auto a = connect();
  send(a, command("EVAL x 0"));
  answer(0, ":1\r\n");
  run(milliseconds(100));
  const auto b = connect();
  peers_.at(b).send(command("EVAL y 0"));
  run(milliseconds(1));
  EXPECT_EQ(redis_has_got(0), command("EVAL x 0") + kProbe);
  run(seconds(4));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_has_got(1), kProbe);
  answer(1, kPong);
  EXPECT_EQ(redis_has_got(1), command("EVAL y 0"));
}

TEST_F(Stalled, a_lease_that_redis_has_closed_meanwhile_is_replaced) {
  const auto a = connect();
  send(a, command("EVAL x 0"));
  answer(0, ":1\r\n");
  run(milliseconds(100));
  const auto b = connect();
  peers_.at(b).send(command("EVAL y 0"));
  run(milliseconds(1));
  redis(0).reset();
  run(milliseconds(1));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_FALSE(has_been_closed(b));
}

TEST_F(Stalled, what_waits_for_a_lease_that_has_died_goes_at_once_where_there_is_nothing_to_tell) {
  const auto a = connect();
  send(a, command("CLIENT SETNAME web"));
  answer(0, kOk);
  const auto b = connect();
  peers_.at(b).send(command("CLIENT GETNAME"));
  run(milliseconds(1));
  EXPECT_EQ(redis_has_got(0),
            command("CLIENT SETNAME web") + "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$0\r\n\r\n");
  redis(0).reset();
  run(milliseconds(1));
  ASSERT_EQ(upstreams(), 2U);
  peers_.at(b).send(command("GET x"));
  run(milliseconds(1));
  EXPECT_EQ(redis_has_got(1), command("CLIENT GETNAME") + command("GET x"));
}

}  // namespace
}  // namespace cuckooguard::proxy
