// Sessions in `mode: shared` whose clients are connected while the password of Redis's default user
// is set, or removed.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

const std::string kOk = "+OK\r\n";
const std::string kPong = "+PONG\r\n";
const std::string kNoAuth = "-NOAUTH Authentication required.\r\n";

const std::string kNoPassword =
    "-ERR AUTH <password> called without any password configured for the default user. Are you "
    "sure your configuration is correct?\r\n";

using PasswordSet = SharingClients;
using PasswordRemoved = SharingClients;

// Without the question nobody could tell: CLIENT ID would have its reply there, and whatever came
// behind it, too.
class ForGood : public PasswordSet, public ::testing::WithParamInterface<std::string_view> {};

TEST_P(ForGood, is_refused_alone_where_redis_wants_a_login_by_now) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  EXPECT_EQ(got(a), kPong);
  login_probe_reply_ = kNoAuth;
  send(a, command(GetParam()) + command("ECHO 1"));
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kNoAuth);
  EXPECT_EQ(got(a), kNoAuth);
  EXPECT_EQ(redis_got(1), "") << "nothing of the client's goes where it has not been let in";
  EXPECT_EQ(redis_got(0), command("PING") + command("ECHO 1"));
  redis_sends(0, "$1\r\n1\r\n");
  EXPECT_EQ(got(a), "$1\r\n1\r\n");
  ASSERT_EQ(upstreams(), 2U);

  send(a, command("AUTH word") + command(GetParam()));
  EXPECT_EQ(redis_got(2), command("AUTH word"));
  redis_sends(2, kOk);
  EXPECT_EQ(got(a), kOk);
  EXPECT_EQ(redis_got(2), command(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Commands,
                         ForGood,
                         ::testing::Values("CLIENT ID",
                                           "CLIENT INFO",
                                           "CLIENT NO-EVICT on",
                                           "CLIENT TRACKING on",
                                           "CLIENT GETREDIR",
                                           "CLIENT REPLY OFF",
                                           "MONITOR",
                                           "DEBUG SLEEP 0",
                                           "PSYNC ? -1"));

TEST_F(PasswordSet, a_client_that_redis_still_lets_in_keeps_the_connection_on_which_it_said_so) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  send(a, command("CLIENT ID") + command("PING"));
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), command("CLIENT ID") + command("PING"));
  redis_sends(1, ":7\r\n" + kPong);
  EXPECT_EQ(got(a), kPong + ":7\r\n" + kPong);
  redis(1).close();
  EXPECT_TRUE(is_closed(a));
}

// Its next replies tell whether Redis has accepted MULTI there.
TEST_F(PasswordSet, what_comes_behind_a_multi_that_is_refused_does_not_keep_its_connection) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  send(a, command("MULTI") + command("MONITOR"));
  EXPECT_EQ(redis_got(1), command("MULTI"));
  redis_sends(1, kNoAuth);
  EXPECT_EQ(got(a), kPong + kNoAuth);
  EXPECT_TRUE(redis(1).at_end()) << "lent to nobody else";
  EXPECT_EQ(redis_got(2), kProbe);
  redis_sends(2, kNoAuth);
  EXPECT_EQ(got(a), kNoAuth);
  send(a, command("ECHO 1"));
  EXPECT_EQ(redis_got(0), command("PING") + command("ECHO 1"));
}

TEST_F(PasswordSet, what_comes_behind_a_multi_that_redis_has_accepted_stays_in_it) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  send(a, command("MULTI") + command("CLIENT ID"));
  EXPECT_EQ(redis_got(1), command("MULTI"));
  redis_sends(1, kOk);
  EXPECT_EQ(redis_got(1), command("CLIENT ID"));
}

TEST_F(PasswordSet, a_client_whose_replies_are_not_read_does_not_wait_for_them) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  send(a, command("MULTI"));
  redis_sends(1, kOk);
  send(a, command("SUBSCRIBE c") + command("QUIT"));
  EXPECT_EQ(redis_got(1), command("MULTI") + command("SUBSCRIBE c") + command("QUIT"));
}

TEST_F(PasswordSet, a_redis_that_does_not_serve_says_so_itself) {
  for (const std::string_view error : {"-LOADING Redis is loading the dataset in memory\r\n",
                                       "-MASTERDOWN Link with MASTER is down\r\n",
                                       "-BUSY Redis is busy running a script.\r\n"}) {
    const auto a = connect();
    send(a, command("PING"));
    redis_sends(0, kPong);
    send(a, command("CLIENT ID"));
    const std::size_t own = upstreams() - 1;
    EXPECT_EQ(redis_got(own), kProbe);
    redis_sends(own, error);
    EXPECT_EQ(redis_got(own), command("CLIENT ID")) << error;
  }
}

TEST_F(PasswordSet, a_client_whose_command_waits_for_a_redis_that_is_gone_is_closed) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  send(a, command("CLIENT ID"));
  EXPECT_EQ(redis_got(1), kProbe);
  redis(1).close();
  EXPECT_EQ(redis_got(2), kProbe) << "once more";
  redis(2).close();
  EXPECT_EQ(got(a), kPong);
  EXPECT_TRUE(is_closed(a));
  EXPECT_EQ(upstreams(), 3U);
}

TEST_F(PasswordSet, bytes_that_are_no_command_are_told_so_without_a_question) {
  const auto a = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  send(a, "*1\r\n+PING\r\n");
  EXPECT_EQ(redis_got(1), "*1\r\n+PING\r\n");
}

// While it waits, its length is too large for who has not logged in; then Redis lets the client in.
TEST_F(PasswordSet, a_command_of_which_a_part_has_waited_is_read_to_its_end) {
  shop_.facts.withdraw_users();
  const auto a = connect();
  const std::string front = "*12\r\n$3\r\nDEL\r\n";
  send(a, command("EVAL x 0") + front);
  EXPECT_EQ(redis_got(0), command("EVAL x 0"));
  redis_sends(0, kOk);
  EXPECT_EQ(got(a), kOk);
  std::string keys;
  for (int i = 0; i < 11; ++i) {
    keys += "$1\r\nk\r\n";
  }
  send(a, keys);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), front + keys);
}

// Its greeting is refused, since there is nothing to log in to, and must not cost it anything.
TEST_F(PasswordRemoved, clients_that_have_given_it_go_on) {
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  redis_sends(1, kNoPassword);
  EXPECT_EQ(redis_got(2), command("AUTH default word"));
  redis_sends(2, kOk);
  send(a, command("ECHO 1"));
  EXPECT_EQ(redis_got(2), command("ECHO 1"));
  redis_sends(2, "$1\r\n1\r\n");
  send(a, command("BLPOP l 0"));
  std::size_t own = upstreams() - 1;
  if (redis_got(own).starts_with(command("AUTH word"))) {
    redis_sends(own, kNoPassword);
    own = upstreams() - 1;
    EXPECT_EQ(redis_got(own), command("AUTH default word"));
    redis_sends(own, kOk);
  }
  EXPECT_EQ(got(a), kOk + "$1\r\n1\r\n");
  EXPECT_FALSE(is_closed(a));
}

// Redis may have another password by then.
TEST_F(PasswordRemoved, a_refusal_of_both_forms_is_one) {
  const auto a = connect();
  send(a, command("AUTH word"));
  redis_sends(0, kOk);
  redis_sends(1, kNoPassword);
  redis_sends(2, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(got(a), kOk);
  EXPECT_EQ(upstreams(), 3U);
  send(a, command("ECHO 1"));
  EXPECT_EQ(redis_got(0), command("AUTH word") + command("ECHO 1")) << "it keeps what it has";
}

TEST_F(PasswordRemoved, a_user_that_was_named_is_not_named_again) {
  const auto a = connect();
  send(a, command("AUTH shop word"));
  redis_sends(0, kOk);
  redis_sends(1, kNoPassword);
  send(a, command("ECHO 1"));
  EXPECT_EQ(redis_got(0), command("AUTH shop word") + command("ECHO 1"));
  EXPECT_EQ(upstreams(), 2U);
}

}  // namespace
}  // namespace cuckooguard::proxy
