// Clients whose commands go to another Redis from now on: who has something with the one before is
// closed, and the others go on as if nothing had been.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

class MovedSession : public SharingClients {
 protected:
  void move(bool keeps_subscribers = false) {
    loop_.as_batch([&] { clients_.on_upstream_changed(io::TimePoint::max(), keeps_subscribers); });
    loop_.run();
  }
};

const std::string kPong = "+PONG\r\n";

TEST_F(MovedSession, who_is_owed_nothing_goes_on_there) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("PING"));
  redis_sends(0, kPong);
  EXPECT_EQ(got(a), kPong);
  move();
  EXPECT_TRUE(redis(0).at_end() || redis(0).is_reset()) << "nobody is left there";
  send(a, command("ECHO 1"));
  send(b, command("ECHO 2"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("ECHO 1") + command("ECHO 2"));
  redis_sends(1, "$1\r\n1\r\n$1\r\n2\r\n");
  EXPECT_EQ(got(a), "$1\r\n1\r\n");
  EXPECT_EQ(got(b), "$1\r\n2\r\n");
}

TEST_F(MovedSession, who_is_owed_a_reply_is_closed_and_gets_none_of_the_one_before) {
  const auto owed = connect();
  const auto idle = connect();
  send(idle, command("PING"));
  redis_sends(0, kPong);
  EXPECT_EQ(got(idle), kPong);
  send(owed, command("GET user:7"));
  EXPECT_TRUE(redis_got(0).ends_with(command("GET user:7")));
  move();
  EXPECT_TRUE(is_closed(owed));
  EXPECT_FALSE(is_closed(idle));
  redis(0).send("$1\r\n7\r\n");
  EXPECT_EQ(got(owed), "");
  send(idle, command("PING"));
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, kPong);
  EXPECT_EQ(got(idle), kPong);
}

TEST_F(MovedSession, who_has_a_connection_of_its_own_is_closed) {
  const auto in_transaction = connect();
  send(in_transaction, command("MULTI"));
  redis_sends(0, "+OK\r\n");
  EXPECT_EQ(got(in_transaction), "+OK\r\n");
  move();
  EXPECT_TRUE(is_closed(in_transaction));
}

// Of Sentinels: the one before tells of the switch as well, but who asks it may be told of the old
// master.
TEST_F(MovedSession, subscribers_can_stay_where_they_hear_the_same) {
  const auto subscriber = connect();
  send(subscriber, command("SUBSCRIBE x"));
  const std::string subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n";
  redis_sends(0, subscribed);
  EXPECT_EQ(got(subscriber), subscribed);
  const auto asking = connect();
  send(asking, command("MULTI"));
  redis_sends(1, "+OK\r\n");
  EXPECT_EQ(got(asking), "+OK\r\n");
  move(true);
  EXPECT_TRUE(is_closed(asking));
  EXPECT_FALSE(is_closed(subscriber));
  move();
  EXPECT_TRUE(is_closed(subscriber));
}

TEST_F(MovedSession, a_connection_that_was_kept_is_nobodys_there) {
  const auto client = connect();
  send(client, command("BLPOP x 0"));
  redis_sends(0, "*-1\r\n");
  EXPECT_EQ(got(client), "*-1\r\n");
  send(client, command("PING"));
  redis_sends(1, kPong);
  EXPECT_EQ(got(client), kPong);
  move();
  send(client, command("BLPOP y 0"));
  ASSERT_EQ(upstreams(), 3U);
  EXPECT_EQ(redis_got(2), command("BLPOP y 0"));
}

// The one before wanted no login; what it has said of that counts no more.
TEST_F(MovedSession, who_has_not_logged_in_is_let_in_by_the_next_or_not_at_all) {
  const auto client = connect();
  send(client, command("PING"));
  redis_sends(0, kPong);
  EXPECT_EQ(got(client), kPong);
  const std::size_t probes = login_probes();
  login_probe_reply_ = "-NOAUTH Authentication required.\r\n";
  move();
  send(client, command("PING"));
  EXPECT_GT(login_probes(), probes);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("PING"));
  redis_sends(1, "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(got(client), "-NOAUTH Authentication required.\r\n");
}

}  // namespace
}  // namespace cuckooguard::proxy
