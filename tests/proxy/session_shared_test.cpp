// Sessions in `mode: shared`: who travels on which connection, in which order, and what becomes of
// whom when one is lost.
#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

class SharedSession : public SharingClients {
 protected:
  // The connection on which Redis has been sent this last.
  std::size_t who_got(std::string_view bytes) {
    std::size_t found = upstreams();
    for (std::size_t i = 0; i < upstreams(); ++i) {
      found = redis_got(i).ends_with(bytes) ? i : found;
    }
    EXPECT_LT(found, upstreams()) << bytes;
    return found;
  }
};

const std::string kOk = "+OK\r\n";
const std::string kPong = "+PONG\r\n";

TEST_F(SharedSession, clients_share_one_connection_and_each_gets_its_own_replies) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("PING") + command("ECHO 1"));
  send(b, command("ECHO 2"));
  send(a, command("ECHO 3"));
  EXPECT_EQ(upstreams(), 1U);
  EXPECT_EQ(redis_got(0),
            command("PING") + command("ECHO 1") + command("ECHO 2") + command("ECHO 3"));
  redis_sends(0, "+PONG\r\n$1\r\n1\r\n$1");
  EXPECT_EQ(got(a), "+PONG\r\n$1\r\n1\r\n");
  EXPECT_EQ(got(b), "$1");  // as it comes
  redis_sends(0, "\r\n2\r\n$1\r\n3\r\n");
  EXPECT_EQ(got(b), "\r\n2\r\n");
  EXPECT_EQ(got(a), "$1\r\n3\r\n");
}

TEST_F(SharedSession,
       absent_keys_are_answered_in_the_clients_order_and_no_connection_is_made_for_them) {
  const auto a = connect();
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), "$-1\r\n");
  EXPECT_EQ(upstreams(), 0U);
  send(a, command("GET user:7") + command("GET user:999") + command("PING"));
  EXPECT_EQ(got(a), "");
  redis_sends(0, "$1\r\n7\r\n+PONG\r\n");
  EXPECT_EQ(got(a), "$1\r\n7\r\n$-1\r\n+PONG\r\n");
}

// The race that a proxy has which sends them at once: two connections, and Redis may read MULTI's
// first.
TEST_F(SharedSession, a_transaction_leaves_when_all_replies_before_it_have_come) {
  const auto a = connect();
  send(a, command("SET x 1") + command("MULTI") + command("GET x") + command("EXEC"));
  EXPECT_EQ(upstreams(), 1U);
  EXPECT_EQ(redis_got(0), command("SET x 1"));
  redis_sends(0, kOk);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("MULTI") + command("GET x") + command("EXEC"));
  redis_sends(1, "+OK\r\n+QUEUED\r\n*1\r\n$1\r\n1\r\n");
  EXPECT_EQ(got(a), kOk + "+OK\r\n+QUEUED\r\n*1\r\n$1\r\n1\r\n");
}

TEST_F(SharedSession, a_lease_is_given_back_and_serves_the_next_client) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("MULTI"));
  redis_sends(0, kOk);
  send(a, command("GET x"));
  redis_sends(0, "+QUEUED\r\n");
  send(a, command("EXEC"));
  redis_sends(0, "*1\r\n$-1\r\n");
  EXPECT_EQ(redis_got(0), command("MULTI") + command("GET x") + command("EXEC"));
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(0), "");
  EXPECT_EQ(redis_got(1), command("GET x"));
  send(b, command("MULTI"));
  EXPECT_EQ(redis_got(0), command("MULTI"));
  EXPECT_EQ(upstreams(), 2U);
}

TEST_F(SharedSession, what_leaves_something_behind_keeps_its_connection) {
  const auto a = connect();
  for (const std::string_view words : {"CLIENT ID", "SUBSCRIBE c", "WATCH k", "MULTI"}) {
    const auto client = connect();
    send(client, command(words));
    const std::size_t own = who_got(command(words));
    redis_sends(own,
                words == "SUBSCRIBE c" ? "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" : ":1\r\n");
    send(a, command("CLIENT LIST"));  // takes one that is free
    const std::size_t free = who_got(command("CLIENT LIST"));
    EXPECT_NE(free, own) << words;
    redis_sends(free, "$0\r\n\r\n");
    send(client, command("PING"));
    EXPECT_EQ(redis_got(own), command("PING")) << words;
    redis_sends(own, kPong);
  }
}

TEST_F(SharedSession, what_may_wait_in_redis_waits_on_a_connection_of_its_own) {
  for (const std::string_view words :
       {"BLPOP l 0", "XREAD BLOCK 0 STREAMS s $", "EVAL x 0", "SOMETHING new", "DEBUG SLEEP 1"}) {
    const auto a = connect();
    const auto b = connect();
    send(a, command(words));
    const std::size_t own = upstreams() - 1;
    EXPECT_TRUE(redis_got(own).ends_with(command(words))) << words;
    send(b, command("PING"));
    EXPECT_EQ(redis_got(own), "") << words;
    peers_.at(a).close();
    peers_.at(b).close();
    loop_.run();
  }
}

TEST_F(SharedSession, wait_stands_behind_a_command_of_its_connection) {
  const auto a = connect();
  send(a, command("SET x 1"));
  redis_sends(0, kOk);
  send(a, command("WAIT 1 100"));
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), command("WAIT 1 100"));
  redis_sends(1, ":1\r\n");
  EXPECT_EQ(got(a), kOk + ":1\r\n");
}

TEST_F(SharedSession, who_has_changed_its_state_shares_with_its_like) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("HELLO 3 AUTH shop word SETNAME web"));
  redis_sends(0, "%0\r\n");
  send(a, command("SELECT 2"));
  EXPECT_EQ(redis_got(0),
            command("HELLO 3 AUTH shop word SETNAME web") + command("SELECT 2"));  // the same lease
  redis_sends(0, kOk);
  ASSERT_EQ(upstreams(), 3U) << "one for db 0, too, as soon as the user was known";
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(0), command("GET x"))
      << "nobody knows yet whether others may be in its state";
  redis_sends(0, "_\r\n");
  EXPECT_EQ(redis_got(2), command("HELLO 3 AUTH shop word") + command("SELECT 2"));
  redis_sends(2, "%0\r\n+OK\r\n");
  send(a, command("PING"));
  EXPECT_EQ(redis_got(2), command("PING"));
  redis_sends(2, kPong);
  EXPECT_EQ(got(a), "%0\r\n+OK\r\n_\r\n+PONG\r\n");
  send(b, command("PING"));
  ASSERT_EQ(upstreams(), 4U);
  EXPECT_EQ(redis_got(3), command("PING"));
}

TEST_F(SharedSession, a_lease_is_told_what_the_client_has_been_called) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("CLIENT SETNAME web"));
  redis_sends(0, kOk);
  EXPECT_EQ(redis_got(0), command("CLIENT SETNAME web"));
  send(b, command("CLIENT GETNAME"));
  EXPECT_EQ(redis_got(0), "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$0\r\n\r\n");
  redis_sends(0, kOk);
  EXPECT_EQ(redis_got(0), command("CLIENT GETNAME"));
  redis_sends(0, "$-1\r\n");
  EXPECT_EQ(got(b), "$-1\r\n");
  send(a, command("CLIENT GETNAME"));
  EXPECT_EQ(redis_got(0), command("CLIENT SETNAME web"));
  redis_sends(0, kOk);
  EXPECT_EQ(redis_got(0), command("CLIENT GETNAME"));
  redis_sends(0, "$3\r\nweb\r\n");
  EXPECT_EQ(got(a), "+OK\r\n$3\r\nweb\r\n");
}

// HELLO SETNAME takes no right to CLIENT.
TEST_F(SharedSession, who_may_not_be_called_anything_on_a_lease_has_its_commands_carried_out) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("CLIENT SETNAME web"));
  redis_sends(0, kOk);
  (void)redis_got(0);
  send(b, command("CLIENT GETNAME"));
  (void)redis_got(0);
  redis_sends(0, "-NOPERM this user has no permissions to run 'client|setname'\r\n");
  EXPECT_EQ(redis_got(0), command("CLIENT GETNAME"));
  redis_sends(0, "$3\r\nweb\r\n");
  EXPECT_EQ(got(b), "$3\r\nweb\r\n");
}

// Behind a refused login Redis would run them as its default user.
TEST_F(SharedSession, commands_wait_until_their_connection_has_been_logged_in) {
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  redis_sends(1, kOk);
  send(a, command("SET x 1"));
  EXPECT_EQ(redis_got(2), command("AUTH word"));
  redis_sends(2, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(redis_got(2), "");
  EXPECT_EQ(got(a), kOk);
  EXPECT_TRUE(is_closed(a));
}

TEST_F(SharedSession, who_cannot_be_set_up_elsewhere_keeps_the_connection_that_it_has) {
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  const std::string four_times = kOk + kOk + kOk + kOk;
  for (const std::string_view refusal : {"-NOPERM this user has no permissions to run 'select'\r\n",
                                         "-WRONGPASS invalid username-password pair\r\n",
                                         "-BUSY Redis is busy running a script.\r\n",
                                         "-ERR max number of clients reached\r\n"}) {
    const std::size_t asked = upstreams() - 1;
    EXPECT_EQ(redis_got(asked), command("AUTH word"));
    redis_sends(asked, refusal);
    redis(asked).close();
    for (int i = 0; i < 3; ++i) {
      send(a, command("SET x 1"));
      EXPECT_TRUE(redis_got(0).ends_with(command("SET x 1")));
      redis_sends(0, kOk);
    }
    loop_.pass(std::chrono::seconds(2));
    send(a, command("SET x 1"));
    redis_sends(0, kOk);
    EXPECT_TRUE(got(a).ends_with(four_times)) << refusal;
    ASSERT_EQ(upstreams(), asked + 2) << "it is tried again, but not with each command";
  }
  redis_sends(upstreams() - 1, kOk);
  send(a, command("SET x 1"));
  EXPECT_EQ(redis_got(0), command("SET x 1"));
}

TEST_F(SharedSession, who_cannot_be_logged_in_again_is_closed_and_so_is_whoever_shares_with_it) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  redis_sends(1, kOk);
  send(b, command("AUTH word"));
  ASSERT_EQ(upstreams(), 3U) << "whoever is in cannot be logged out for another one";
  redis_sends(2, kOk);
  EXPECT_EQ(got(a), kOk);
  EXPECT_EQ(got(b), kOk);
  redis(1).close();
  loop_.run();
  EXPECT_EQ(redis_got(3), command("AUTH word"));
  redis_sends(3, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_TRUE(is_closed(a));
  EXPECT_TRUE(is_closed(b));
}

TEST_F(SharedSession, a_user_that_redis_cuts_off_is_tried_once_more) {
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  EXPECT_EQ(got(a), kOk);
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, kOk);
  redis(1).close();
  loop_.run();
  ASSERT_EQ(upstreams(), 3U) << "a restart of Redis, or a user that is gone: the answer tells";
  EXPECT_EQ(redis_got(2), command("AUTH word"));
  EXPECT_FALSE(is_closed(a));
  redis_sends(2, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_TRUE(is_closed(a));
}

TEST_F(SharedSession, replies_to_a_client_that_has_gone_are_nobodys) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("ECHO 1") + command("ECHO 2"));
  send(b, command("ECHO 3"));
  peers_.at(a).close();
  loop_.run();
  const auto c = connect();
  send(c, command("ECHO 4"));
  redis_sends(0, "$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n");
  EXPECT_EQ(got(b), "$1\r\n3\r\n");
  EXPECT_EQ(got(c), "$1\r\n4\r\n");
}

TEST_F(SharedSession, a_connection_goes_with_its_last_client_once_that_is_owed_nothing) {
  const auto a = connect();
  send(a, command("PING") + command("PING"));
  peers_.at(a).reset();
  redis_sends(0, kPong + "+PO");
  EXPECT_EQ(redis_got(0), command("PING") + command("PING"));
  EXPECT_FALSE(redis(0).at_end());
  redis_sends(0, "NG\r\n");
  EXPECT_TRUE(redis(0).at_end());
}

TEST_F(SharedSession, with_its_connection_go_those_who_wait_for_replies_and_the_others_stay) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("PING"));
  send(b, command("PING"));
  redis_sends(0, kPong);
  EXPECT_EQ(got(a), kPong);
  redis(0).close();
  EXPECT_TRUE(is_closed(b));
  EXPECT_FALSE(is_closed(a));
  send(a, command("PING"));
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, kPong);
  EXPECT_EQ(got(a), kPong);
}

TEST_F(SharedSession,
       a_connection_goes_with_its_last_client_though_that_was_lost_with_another_one) {
  const auto a = connect();
  send(a, command("GET x"));
  redis_sends(0, "$-1\r\n");
  EXPECT_EQ(got(a), "$-1\r\n");
  send(a, command("SET x 1"));
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), kProbe + command("SET x 1"));
  redis(1).close();
  EXPECT_TRUE(is_closed(a));
  EXPECT_TRUE(redis(0).at_end());
}

// The error is nobody's reply, but is taken for one.
TEST_F(SharedSession, a_redis_that_is_full_says_so_to_each_command_that_needs_a_connection) {
  const auto a = connect();
  send(a, command("GET x") + command("PING"));
  redis_sends(0, "-ERR max number of clients reached\r\n");
  redis(0).close();
  EXPECT_EQ(got(a), "-ERR max number of clients reached\r\n-ERR max number of clients reached\r\n");
  send(a, command("GET x"));
  redis_sends(1, "$-1\r\n");
  send(a, command("MULTI") + command("SET x 1"));
  redis_sends(2, "-ERR max number of clients reached\r\n");
  redis(2).close();
  EXPECT_EQ(got(a),
            "$-1\r\n-ERR max number of clients reached\r\n-ERR max number of clients reached\r\n");
  send(a, command("GET x"));
  EXPECT_TRUE(redis_got(1).ends_with(command("GET x"))) << "what it has it keeps";
}

TEST_F(SharedSession, who_is_not_let_in_is_told_so_by_redis_itself_and_closed) {
  login_probe_reply_ = "-ERR max number of clients reached\r\n";
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, "-ERR max number of clients reached\r\n");
  redis(0).close();
  EXPECT_EQ(got(a), "-ERR max number of clients reached\r\n");
  EXPECT_TRUE(is_closed(a));
}

TEST_F(SharedSession,
       while_redis_is_down_absent_keys_are_answered_to_those_who_lost_nothing_with_it) {
  const auto a = connect();
  send(a, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n");
  EXPECT_EQ(got(a), "$1\r\nx\r\n");
  redis(0).close();
  loop_.run();
  shop_.facts.lost();
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), "$-1\r\n");
  EXPECT_EQ(upstreams(), 1U);
}

TEST_F(SharedSession, bytes_that_are_no_resp_end_those_who_wait_for_replies) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, "hello");
  EXPECT_TRUE(is_closed(a));
}

TEST_F(SharedSession, a_large_command_streams_on_a_connection_of_its_own) {
  const auto a = connect();
  const std::string large = command("SET x " + std::string(200'000, 'v'));
  send(a, command("PING") + large + command("PING"));
  EXPECT_EQ(redis_got(0), command("PING"));
  redis_sends(0, kPong);
  ASSERT_EQ(upstreams(), 2U);
  std::string sent;
  while (sent.size() < large.size() + command("PING").size()) {
    const std::string more = redis_got(1);
    ASSERT_FALSE(more.empty()) << sent.size();
    sent += more;
  }
  EXPECT_EQ(sent, large + command("PING"));
  redis_sends(1, kOk + kPong);
  EXPECT_EQ(got(a), kPong + kOk + kPong);
}

TEST_F(SharedSession, a_long_pipeline_takes_turns) {
  settings_.limits.inflight_per_client = 2;
  const auto a = connect();
  const auto b = connect();
  send(a, command("ECHO 1") + command("ECHO 2") + command("ECHO 3"));
  send(b, command("ECHO 4"));
  EXPECT_EQ(redis_got(0), command("ECHO 1") + command("ECHO 2") + command("ECHO 4"));
  redis_sends(0, "$1\r\n1\r\n");
  redis_sends(0, "$1\r\n2\r\n$1\r\n4\r\n");
  EXPECT_EQ(redis_got(0), command("ECHO 3"));
  redis_sends(0, "$1\r\n3\r\n");
  EXPECT_EQ(got(a), "$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n");
  EXPECT_EQ(got(b), "$1\r\n4\r\n");
}

// A run of whole replies needs no second look; what is mixed with errors or cut does.
TEST_F(SharedSession, replies_stay_whose_they_are_wherever_they_are_cut) {
  const auto replies = std::to_array<std::string>(
      {"$1\r\n1\r\n", "-ERR no\r\n", "*2\r\n$1\r\nx\r\n:5\r\n", "+OK\r\n", "$-1\r\n"});
  for (std::size_t first = 1; first < 30; ++first) {
    const auto a = connect();
    const auto b = connect();
    std::string to_a;
    std::string to_b;
    std::string all;
    for (std::size_t i = 0; i < 3 * replies.size(); ++i) {
      const bool is_for_a = i % 4 < 2;
      send(is_for_a ? a : b, command("ECHO " + std::to_string(i)));
      if (is_for_a && i % 3 == 0) {
        send(a, command("GET user:999"));
      }
      (is_for_a ? to_a : to_b) += replies[i % replies.size()];
      all += replies[i % replies.size()];
      if (is_for_a && i % 3 == 0) {
        to_a += "$-1\r\n";
      }
    }
    for (std::size_t at = 0; at < all.size(); at += first) {
      redis_sends(0, std::string_view(all).substr(at, first));
    }
    EXPECT_EQ(got(a), to_a) << first;
    EXPECT_EQ(got(b), to_b) << first;
  }
}

TEST_F(SharedSession, a_client_that_sends_no_more_gets_what_it_has_asked_for) {
  const auto a = connect();
  send(a, command("PING") + command("MULTI"));
  peers_.at(a).finish();
  redis_sends(0, kPong);
  redis_sends(1, kOk);
  EXPECT_EQ(got(a), kPong + kOk);
  const auto b = connect();
  send(b, command("PING"));
  peers_.at(b).finish();
  EXPECT_FALSE(is_closed(b));
  redis_sends(0, kPong);
  EXPECT_EQ(got(b), kPong);
  EXPECT_TRUE(is_closed(b));
}

TEST_F(SharedSession, a_redis_that_refuses_writes_is_left_for_its_successor) {
  const auto a = connect();
  loop_.run(std::chrono::seconds(2));
  send(a, command("SET x 1"));
  loop_.pass(std::chrono::seconds(2));
  redis_sends(0, "-READONLY You can't write against a read only replica.\r\n");
  send(a, command("SET x 1"));
  EXPECT_EQ(upstreams(), 2U);
  redis_sends(1, kOk);
  EXPECT_EQ(got(a), "-READONLY You can't write against a read only replica.\r\n" + kOk);
}

TEST_F(SharedSession, a_lease_on_which_redis_refuses_writes_is_nobody_elses) {
  const auto a = connect();
  send(a, command("MULTI"));
  redis_sends(0, kOk);
  loop_.pass(std::chrono::seconds(2));
  send(a, command("SET x 1") + command("DISCARD"));
  redis_sends(0, "-READONLY You can't write against a read only replica.\r\n" + kOk);
  EXPECT_TRUE(got(a).ends_with("replica.\r\n" + kOk));
  redis_got(0);
  send(a, command("MULTI"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(0), "");
  EXPECT_EQ(redis_got(1), command("MULTI"));
}

TEST_F(SharedSession, who_needs_a_connection_alone_gets_none_of_before_redis_refused_writes) {
  const auto a = connect();
  send(a, command("MULTI") + command("DISCARD"));
  redis_sends(0, kOk + kOk);
  redis_got(0);
  send(a, command("SET x 1"));
  loop_.pass(std::chrono::seconds(2));
  redis_sends(1, "-READONLY You can't write against a read only replica.\r\n");
  send(a, command("MULTI"));
  ASSERT_EQ(upstreams(), 3U);
  EXPECT_EQ(redis_got(0), "");
  EXPECT_EQ(redis_got(2), command("MULTI"));
}

TEST_F(SharedSession, bad_requests_are_told_by_redis_itself_behind_the_replies_before) {
  const auto a = connect();
  send(a, command("PING") + "*1\r\n$x\r\n");
  redis_sends(0, kPong);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), "*1\r\n$x\r\n");
  redis_sends(1, "-ERR Protocol error: invalid bulk length\r\n");
  redis(1).close();
  EXPECT_EQ(got(a), kPong + "-ERR Protocol error: invalid bulk length\r\n");
  EXPECT_TRUE(is_closed(a));
}

}  // namespace
}  // namespace cuckooguard::proxy
