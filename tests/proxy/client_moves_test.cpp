// A client that goes on with another worker: both are driven by one simulated loop here.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "proxy/balance.h"
#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

using namespace std::chrono_literals;

const std::string kOk = "+OK\r\n";
const std::string kPong = "+PONG\r\n";
const std::string kLetIn = "$16\r\nconnection-probe\r\n";

class ClientMoves : public SharingClients {
 protected:
  void TearDown() override {
    SharingClients::TearDown();
    EXPECT_EQ(total_.open, clients_.count() + other_.count());
  }

  // Works, then is asked for: the only client here with anything to do is the one that moves.
  void ask_to_move(std::size_t client, unsigned best = 1000) {
    give(best);  // it is counted from here on
    send(client, "PING\r\n");
    redis_sends(0, kPong);
    ASSERT_EQ(got(client), kPong);
    give(best);
  }
  void give(unsigned best = 1000) {
    loop_.as_batch([&] {
      clients_.give_one(other_, best, [this](int socket) { return loop_.adopt(socket); });
    });
    loop_.run();
  }
  // The connection on which Redis has been sent this last.
  std::size_t who_got(std::string_view bytes) {
    std::size_t found = upstreams();
    for (std::size_t i = 0; i < upstreams(); ++i) {
      found = redis_got(i).ends_with(bytes) ? i : found;
    }
    EXPECT_LT(found, upstreams()) << bytes;
    return found;
  }
  bool has_moved() const { return total_.moved == 1 && other_.count() == 1; }
  void drain(Clients& worker, int& emptied) {
    loop_.as_batch([&] { worker.drain([&emptied] { ++emptied; }); });
    loop_.run();
  }

  guard::Guard other_guard_{shop_.guard->parts()};
  guard::OwnCommands other_commands_{other_guard_, guard::guard_commands(other_guard_)};
  Clients other_{{.loop = loop_,
                  .guard = other_guard_,
                  .own_commands = other_commands_,
                  .settings = settings_,
                  .total = total_}};
};

TEST_F(ClientMoves, it_goes_on_there_when_redis_has_let_a_connection_in) {
  const auto a = connect();
  ask_to_move(a);
  EXPECT_FALSE(has_moved());
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kLetIn);
  EXPECT_TRUE(has_moved());
  EXPECT_EQ(clients_.count(), 0U);
  EXPECT_TRUE(redis(0).at_end());  // nobody needs it any more
  send(a, command("PING"));
  redis_sends(who_got(command("PING")), kPong);
  EXPECT_EQ(got(a), kPong);
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), kNil);
}

TEST_F(ClientMoves, what_it_sends_on_the_way_is_read_there) {
  const auto a = connect();
  ask_to_move(a);
  loop_.weather().post_latency_max = 1000us;
  redis(1).send(kLetIn);
  while (clients_.count() == 1 && loop_.step()) {
  }
  ASSERT_FALSE(has_moved());
  send(a, command("ECHO 1"));
  EXPECT_TRUE(has_moved());
  redis_sends(who_got(command("ECHO 1")), "$1\r\n1\r\n");
  EXPECT_EQ(got(a), "$1\r\n1\r\n");
}

TEST_F(ClientMoves, whoever_is_owed_a_reply_by_then_stays) {
  const auto a = connect();
  ask_to_move(a);
  send(a, command("ECHO 1"));
  redis_sends(1, kLetIn);
  EXPECT_FALSE(has_moved());
  EXPECT_EQ(other_.count(), 0U);
  redis_sends(0, "$1\r\n1\r\n");
  EXPECT_EQ(got(a), "$1\r\n1\r\n");
  EXPECT_TRUE(redis(1).at_end());
}

TEST_F(ClientMoves, its_db_comes_with_it) {
  const auto a = connect();
  send(a, command("SELECT 2"));
  redis_sends(0, kOk);
  ASSERT_EQ(got(a), kOk);
  ASSERT_EQ(redis_got(1), command("SELECT 2"));
  redis_sends(1, kOk);
  give();
  send(a, command("GET cart:8"));
  ASSERT_EQ(got(a), kNil);
  const auto before = upstreams();
  give();
  EXPECT_EQ(redis_got(before), command("SELECT 2") + kProbe);
  redis_sends(before, kOk + kLetIn);
  ASSERT_TRUE(has_moved());
  send(a, command("GET cart:8"));
  EXPECT_EQ(got(a), kNil);
}

TEST_F(ClientMoves, nobody_moves_by_rights_that_redis_would_not_give_again) {
  const auto a = connect();
  ask_to_move(a);
  redis_sends(1, "-NOAUTH Authentication required.\r\n");
  EXPECT_FALSE(has_moved());
  EXPECT_EQ(other_.count(), 0U);
  send(a, command("PING"));
  redis_sends(0, kPong);
  EXPECT_EQ(got(a), kPong);
}

TEST_F(ClientMoves, one_that_has_asked_for_absent_keys_alone_needs_no_connection) {
  const auto a = connect();
  give();
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), kNil);
  give();
  EXPECT_TRUE(has_moved());
  EXPECT_EQ(upstreams(), 0U);
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), kNil);
}

TEST_F(ClientMoves, one_inside_multi_stays) {
  const auto a = connect();
  give();
  send(a, command("MULTI"));
  redis_sends(0, kOk);
  EXPECT_EQ(got(a), kOk);
  give();
  EXPECT_EQ(upstreams(), 1U);
  EXPECT_EQ(clients_.count(), 1U);
}

TEST_F(ClientMoves, one_with_most_of_the_work_stays) {
  const auto a = connect();
  ask_to_move(a, 500);
  EXPECT_EQ(upstreams(), 1U);
  EXPECT_EQ(clients_.count(), 1U);
}

TEST_F(ClientMoves, work_of_long_ago_does_not_count) {
  const auto a = connect();
  give();
  send(a, command("GET user:999"));
  pass(loop_, 3 * Balance::kLookEvery);
  give();
  EXPECT_FALSE(has_moved());
}

// Worker A may still drop the young keys that it wrote there, and nobody would tell it.
TEST_F(ClientMoves, its_reads_pass_while_keys_that_it_has_written_are_young) {
  shop_.spaces[guard::GuardedShop::kUsers].max_lag = 100ms;
  const auto a = connect();
  give();
  send(a, command("SET user:500 1"));
  redis_sends(0, kOk);
  EXPECT_EQ(got(a), kOk);
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), kNil);
  give();
  redis_sends(1, kLetIn);
  ASSERT_TRUE(has_moved());
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), "");
  redis_sends(who_got(command("GET user:999")), kNil);
  EXPECT_EQ(got(a), kNil);
  pass(loop_, 100ms);
  send(a, command("GET user:999"));
  EXPECT_EQ(got(a), kNil);
}

TEST_F(ClientMoves, nobody_comes_to_a_worker_that_drains_and_it_is_not_waited_for) {
  const auto a = connect();
  int emptied = 0;
  drain(other_, emptied);
  ask_to_move(a);
  EXPECT_EQ(emptied, 1);
  EXPECT_EQ(other_.count(), 0U);
  EXPECT_EQ(clients_.count(), 1U);
}

TEST_F(ClientMoves, a_worker_that_drains_waits_for_whom_it_has_asked_for) {
  const auto a = connect();
  ask_to_move(a);
  loop_.weather().post_latency_max = 1000us;
  redis(1).send(kLetIn);
  while (clients_.count() == 1 && loop_.step()) {
  }
  int emptied = 0;
  loop_.as_batch([&] { other_.drain([&emptied] { ++emptied; }); });
  EXPECT_EQ(emptied, 0);
  loop_.run();
  EXPECT_TRUE(has_moved() || other_.count() == 0);
  EXPECT_TRUE(is_closed(a));  // between two commands
  peers_.at(a).close();
  loop_.run();
  EXPECT_EQ(emptied, 1);
}

TEST_F(ClientMoves, a_connection_that_leads_to_another_redis_by_then_is_not_taken) {
  const auto a = connect();
  ask_to_move(a);
  loop_.as_batch([&] { other_.on_upstream_changed(io::TimePoint::max(), false); });
  redis_sends(1, kLetIn);
  EXPECT_FALSE(has_moved());
  EXPECT_EQ(clients_.count(), 1U);
}

}  // namespace
}  // namespace cuckooguard::proxy
