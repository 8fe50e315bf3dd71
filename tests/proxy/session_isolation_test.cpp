// Sessions in `mode: shared`: no byte that one client caused reaches another, and nobody gets in
// where Redis would not let a new client in.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

class Isolation : public SharingClients {
 protected:
  void redis_wants_a_login() { login_probe_reply_ = "-NOAUTH Authentication required.\r\n"; }
  void time_passes() { loop_.pass(std::chrono::milliseconds(1500)); }
};

const std::string kOk = "+OK\r\n";
const std::string kPong = "+PONG\r\n";
const std::string kNoAuth = "-NOAUTH Authentication required.\r\n";
const std::string kInvalidate = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$16\r\n+forged balance\n\r\n";

TEST_F(Isolation, pushes_that_somebody_has_directed_to_a_shared_connection_are_nobodys) {
  const auto a = connect();
  const auto b = connect();
  for (const std::size_t cut : {1U, 4U, 20U, 30U}) {
    send(a, command("GET x"));
    send(b, command("GET y"));
    redis_sends(0, kInvalidate + "$1\r\nx\r\n" + kInvalidate.substr(0, cut));
    redis_sends(0, kInvalidate.substr(cut) + "$1\r\ny\r\n");
    redis_sends(0, kInvalidate.substr(0, cut));
    redis_sends(0, kInvalidate.substr(cut));  // while nobody waits
    EXPECT_EQ(got(a), "$1\r\nx\r\n") << cut;
    EXPECT_EQ(got(b), "$1\r\ny\r\n") << cut;
  }
  EXPECT_EQ(upstreams(), 1U);
}

TEST_F(Isolation, a_lease_on_which_a_push_has_begun_is_kept_until_its_end) {
  const auto a = connect();
  send(a, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n");
  send(a, command("MULTI"));
  send(a, command("DISCARD"));
  redis_sends(1, kOk + kOk + kInvalidate.substr(0, 20));
  EXPECT_EQ(got(a), "$1\r\nx\r\n" + kOk + kOk);
  send(a, command("GET y"));
  EXPECT_EQ(redis_got(0), command("GET x"));
  redis_sends(1, kInvalidate.substr(20) + "$1\r\ny\r\n");
  EXPECT_EQ(got(a), "$1\r\ny\r\n");
}

TEST_F(Isolation, a_reply_that_nobody_has_asked_for_ends_its_connection) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n");
  redis_sends(0, "$1\r\ny\r\n");
  send(b, command("GET z"));
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, "$1\r\nz\r\n");
  EXPECT_EQ(got(a), "$1\r\nx\r\n");
  EXPECT_EQ(got(b), "$1\r\nz\r\n");
}

TEST_F(Isolation, one_reply_too_many_ends_those_who_wait_behind_it) {
  const auto a = connect();
  send(a, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n$1\r\ny\r\n");
  send(a, command("GET z"));
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, "$1\r\nz\r\n");
  EXPECT_EQ(got(a), "$1\r\nx\r\n$1\r\nz\r\n");
}

// They are on their way on the connection for writes when the one for reads cannot be opened again.
TEST_F(Isolation, replies_to_clients_that_cannot_be_logged_in_again_are_nobody_elses) {
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  redis_sends(1, kOk);
  send(a, command("SET x 1 GET"));
  redis_sends(2, kOk);
  EXPECT_EQ(redis_got(2), command("AUTH word") + command("SET x 1 GET"));
  redis(1).close();
  redis_got(1);
  redis_sends(3, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(got(a), kOk);
  EXPECT_TRUE(is_closed(a));
  const auto b = connect();
  send(b, command("AUTH word"));
  redis_sends(4, kOk);
  redis_sends(5, kOk);
  EXPECT_EQ(got(b), kOk);
  send(b, command("SET y 1 GET"));
  redis_sends(2, "$8\r\na's word\r\n");
  EXPECT_EQ(got(b), "");
  EXPECT_EQ(redis_got(6), command("AUTH word"));
  redis_sends(6, kOk + "$-1\r\n");
  EXPECT_EQ(got(b), "$-1\r\n");
}

TEST_F(Isolation, pushes_to_a_connection_that_others_have_had_are_nobodys) {
  const auto a = connect();
  send(a, command("MULTI") + command("GET x"));
  redis_sends(0, kOk + kInvalidate + "+QUEUED\r\n" + kInvalidate);
  EXPECT_EQ(got(a), kOk + "+QUEUED\r\n");
}

TEST_F(Isolation, one_reply_too_many_on_a_connection_that_others_have_had_ends_who_has_it) {
  const auto a = connect();
  send(a, command("MULTI"));
  redis_sends(0, kOk);
  EXPECT_EQ(got(a), kOk);
  redis_sends(0, "$1\r\ny\r\n");
  EXPECT_EQ(got(a), "");
  EXPECT_TRUE(is_closed(a));
}

TEST_F(Isolation, whoever_asks_for_pushes_gets_a_connection_that_nobody_has_had) {
  const auto a = connect();
  send(a, command("MULTI") + command("DISCARD"));
  redis_sends(0, kOk + kOk);  // kept warm
  for (const std::string_view words : {"SUBSCRIBE c", "CLIENT TRACKING ON", "CLIENT ID"}) {
    const auto b = connect();
    const std::size_t before = upstreams();
    send(b, command(words));
    ASSERT_EQ(upstreams(), before + 1) << words;
    EXPECT_EQ(redis_got(before), command(words));
  }
}

TEST_F(Isolation, a_new_client_is_not_let_in_where_redis_wants_a_login) {
  const auto a = connect();
  send(a, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n");
  EXPECT_EQ(got(a), "$1\r\nx\r\n");
  redis_wants_a_login();
  time_passes();
  const auto b = connect();
  send(b, command("GET x"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("GET x")) << "where Redis itself says so";
  redis_sends(1, kNoAuth);
  EXPECT_EQ(got(b), kNoAuth);
  send(a, command("GET x"));
  EXPECT_TRUE(redis_got(0).ends_with(command("GET x"))) << "who was in stays";
  redis_sends(0, "$1\r\nx\r\n");
  EXPECT_EQ(got(a), "$1\r\nx\r\n");
  login_probe_reply_ = kPong;
  time_passes();
  const auto c = connect();
  send(c, command("GET y"));
  ASSERT_EQ(upstreams(), 3U) << "who came before the password shares with no newcomer";
  EXPECT_EQ(redis_got(2), command("GET y"));
}

TEST_F(Isolation, a_new_client_gets_no_lease_of_before_where_redis_wants_a_login) {
  const auto a = connect();
  send(a, command("MULTI") + command("DISCARD"));
  redis_sends(0, kOk + kOk);
  redis_wants_a_login();
  time_passes();
  const auto b = connect();
  send(b, command("MULTI"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("MULTI"));
  EXPECT_FALSE(redis_got(0).ends_with(command("MULTI")));
}

TEST_F(Isolation, an_answer_holds_for_a_second_at_most) {
  const auto a = connect();
  send(a, command("GET x"));
  for (int i = 0; i < 20; ++i) {
    const auto b = connect();
    send(b, command("GET x"));
    EXPECT_EQ(login_probes(), 1U);
  }
  time_passes();
  const auto c = connect();
  EXPECT_EQ(login_probes(), 1U) << "nobody asks before somebody needs it";
  send(c, command("GET x"));
  EXPECT_EQ(login_probes(), 2U);
}

TEST_F(Isolation, an_answer_holds_no_longer_than_what_is_known_of_users) {
  const auto a = connect();
  send(a, command("GET x"));
  shop_.facts.withdraw_users();
  redis_wants_a_login();
  const auto b = connect();
  send(b, command("GET x"));
  EXPECT_EQ(login_probes(), 2U);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("GET x"));
}

// What is opened behind the password is worth nothing to who came before it.
TEST_F(Isolation, who_was_in_goes_on_with_what_there_is_where_redis_wants_a_login) {
  const auto a = connect();
  send(a, command("SET x 1"));
  redis_sends(0, kOk);
  redis_got(0);
  send(a, command("GET x"));
  redis_sends(1, kNoAuth);  // to the question
  redis(1).close();
  EXPECT_EQ(redis_got(0), command("GET x"));
  redis_sends(0, "$1\r\n1\r\n");
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(0), command("GET x"));
  redis_sends(0, "$1\r\n1\r\n");
  EXPECT_EQ(upstreams(), 2U);
  EXPECT_EQ(got(a), kOk + "$1\r\n1\r\n$1\r\n1\r\n");
}

TEST_F(Isolation, after_reset_a_client_is_a_new_one) {
  const auto a = connect();
  const auto b = connect();
  send(b, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n");
  send(a, command("AUTH word"));
  redis_sends(1, kOk);
  redis_sends(2, kOk);
  send(a, command("RESET"));
  redis_wants_a_login();
  time_passes();
  redis_sends(1, "+RESET\r\n");
  send(a, command("GET x"));
  EXPECT_TRUE(redis_got(1).ends_with(command("RESET") + command("GET x"))) << "its own still";
  redis_sends(1, kNoAuth);
  EXPECT_EQ(got(a), kOk + "+RESET\r\n" + kNoAuth);
  EXPECT_EQ(redis_got(0), command("GET x"));
}

TEST_F(Isolation, a_user_that_has_logged_in_needs_no_probe) {
  redis_wants_a_login();
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  redis_sends(1, kOk);
  time_passes();
  const std::size_t before = login_probes();
  for (const std::string_view words : {"GET x", "SET x 1", "MULTI"}) {
    send(a, command(words));
    redis_sends(upstreams() - 1, kOk);
  }
  EXPECT_EQ(login_probes(), before);
}

// It has been let in: it is worth as much as what was opened for others then.
TEST_F(Isolation, who_is_in_needs_no_probe_for_a_connection_of_its_own) {
  const auto a = connect();
  send(a, command("GET x"));
  redis_sends(0, "$1\r\nx\r\n");
  time_passes();
  for (int i = 0; i < 3; ++i) {
    send(a, command("MULTI") + command("DISCARD"));
    redis_sends(1, kOk + kOk);
    time_passes();
  }
  EXPECT_EQ(login_probes(), 1U);
  EXPECT_EQ(upstreams(), 2U);
}

TEST_F(Isolation, a_probe_without_an_answer_lets_nobody_join) {
  login_probe_reply_ = "";
  const auto a = connect();
  send(a, command("GET x"));
  EXPECT_EQ(upstreams(), 0U);
  loop_.run(settings_.upstream.connect_timeout + std::chrono::milliseconds(10));
  ASSERT_EQ(upstreams(), 1U) << "a connection of its own, then";
  redis_sends(0, "$1\r\nx\r\n");
  EXPECT_EQ(got(a), "$1\r\nx\r\n");
}

TEST_F(Isolation, a_client_that_waits_for_a_probe_may_leave) {
  login_probe_reply_ = "";
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET x"));
  send(b, command("GET y"));
  peers_.at(a).reset();
  loop_.run(settings_.upstream.connect_timeout + std::chrono::milliseconds(10));
  ASSERT_EQ(upstreams(), 1U);
  EXPECT_EQ(redis_got(0), command("GET y"));
  EXPECT_EQ(clients_.count(), 1U);
}

TEST_F(Isolation, reads_do_not_wait_behind_writes_that_redis_postpones) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("SET x 1"));
  send(b, command("GET x"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), kProbe) << "is it worth as much as the other?";
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), command("GET x"));
  redis_sends(1, "$1\r\n0\r\n");
  EXPECT_EQ(got(b), "$1\r\n0\r\n");
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(0), command("SET x 1") + command("GET x")) << "in its order";
}

// As Redis does after a snapshot that failed, and to a user who may not.
class PingAlone : public Isolation, public ::testing::WithParamInterface<const char*> {};

TEST_P(PingAlone, is_refused_on_a_connection_that_serves) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("SET x 1"));
  send(b, command("GET x"));
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, GetParam());
  EXPECT_EQ(redis_got(1), kProbe + command("GET x"));
  redis_sends(1, "$1\r\n0\r\n");
  EXPECT_EQ(got(b), "$1\r\n0\r\n");
}

INSTANTIATE_TEST_SUITE_P(Errors,
                         PingAlone,
                         ::testing::Values("-MISCONF no snapshot\r\n", "-NOPERM no ping\r\n"));

TEST_F(Isolation, a_write_waits_for_the_replies_to_reads_before_it) {
  const auto a = connect();
  send(a, command("GET x") + command("SET x 1") + command("GET x"));
  EXPECT_EQ(redis_got(0), command("GET x"));
  EXPECT_EQ(upstreams(), 1U);
  redis_sends(0, "$1\r\n0\r\n");
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), kProbe + command("SET x 1") + command("GET x"));
  redis_sends(1, kOk + "$1\r\n1\r\n");
  EXPECT_EQ(got(a), "$1\r\n0\r\n" + kOk + "$1\r\n1\r\n");
}

TEST_F(Isolation, who_comes_behind_a_connection_that_stands_still_goes_elsewhere) {
  const auto a = connect();
  const auto b = connect();
  const auto c = connect();
  send(a, command("SET x 1"));
  loop_.pass(std::chrono::milliseconds(20));
  send(b, command("SET y 1"));
  EXPECT_EQ(redis_got(0), command("SET x 1"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), command("SET y 1"));
  loop_.pass(std::chrono::milliseconds(20));
  send(c, command("SET z 1"));
  ASSERT_EQ(upstreams(), 3U);
  redis_sends(2, kPong);
  EXPECT_EQ(redis_got(2), kProbe + command("SET z 1"));
  redis_sends(0, kOk);
  redis_sends(1, kOk);
  redis_sends(2, kOk);
  EXPECT_EQ(got(a) + got(b) + got(c), kOk + kOk + kOk);
}

TEST_F(Isolation, a_redis_that_hangs_sees_one_spare_and_nobody_is_lost) {
  const auto a = connect();
  send(a, command("GET x"));
  loop_.pass(std::chrono::milliseconds(20));
  for (int i = 0; i < 10; ++i) {
    const auto b = connect();
    send(b, command("GET y"));
    loop_.pass(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(0, "$1\r\nx\r\n");
  EXPECT_TRUE(redis_got(0).ends_with(command("GET y"))) << "it moves again";
  for (int i = 0; i < 10; ++i) {
    redis_sends(0, "$1\r\ny\r\n");
  }
  for (std::size_t b = 1; b <= 10; ++b) {
    EXPECT_EQ(got(b), "$1\r\ny\r\n");
  }
}

TEST_F(Isolation, a_spare_that_nobody_uses_is_closed) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET x"));
  loop_.pass(std::chrono::milliseconds(20));
  send(b, command("GET y"));
  redis_sends(1, kPong + "$1\r\ny\r\n");
  redis_sends(0, "$1\r\nx\r\n");
  EXPECT_FALSE(redis(1).at_end());
  loop_.run(std::chrono::seconds(25));
  redis_got(1);
  EXPECT_TRUE(redis(1).at_end());
  EXPECT_FALSE(redis(0).at_end());
}

TEST_F(Isolation, who_is_sent_large_replies_gets_them_apart_from_others) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET big"));
  redis_sends(0, "$400000\r\n" + std::string(400'000, 'v') + "\r\n");
  send(a, command("GET big"));
  send(b, command("GET x"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(0), command("GET big") + command("GET x"));
  EXPECT_EQ(redis_got(1), command("GET big"));
}

// Who reads large values has its commands sent on a lease, which is taken before it is known who
// answers them.
TEST_F(Isolation, a_lease_that_cannot_be_had_for_absent_keys_closes_nobody) {
  const auto a = connect();
  send(a, command("GET big"));
  redis_sends(0, "$400000\r\n" + std::string(400'000, 'v') + "\r\n");
  got(a);
  redis_takes_connections_ = false;
  for (int i = 0; i < 2; ++i) {
    send(a, command("GET user:999"));
    EXPECT_EQ(got(a), "$-1\r\n");
    EXPECT_FALSE(is_closed(a));
  }
  send(a, command("GET big"));
  EXPECT_TRUE(is_closed(a)) << "that one is lost";
}

}  // namespace
}  // namespace cuckooguard::proxy
