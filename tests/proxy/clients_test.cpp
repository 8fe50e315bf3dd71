#include "proxy/clients.h"

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";

class ClientsTest : public ProxiedClient {
 protected:
  void admit(Clients& clients, SimPeer& peer) {
    auto transport = loop_.accept(peer);
    loop_.as_batch([&] { clients.admit(std::move(transport)); });
    loop_.run();
  }
};

TEST_F(ClientsTest, one_too_many_gets_redis_own_words_and_is_closed) {
  settings_.limits.max_clients = 1;
  connect();
  SimPeer second(loop_);
  admit(clients_, second);
  EXPECT_EQ(second.read(), kTooMany);
  EXPECT_TRUE(second.at_end());
  EXPECT_EQ(sessions(), 1U);
  EXPECT_EQ(total_.refused, 1U);
  EXPECT_FALSE(client_is_closed());
}

TEST_F(ClientsTest, who_leaves_makes_room) {
  settings_.limits.max_clients = 1;
  connect();
  client_.close();
  loop_.run();
  redis_accepts();
  EXPECT_EQ(redis_got(), "");
  redis_.close();  // as Redis does when the client has said goodbye
  loop_.run();
  EXPECT_EQ(sessions(), 0U);
  SimPeer second(loop_);
  admit(clients_, second);
  EXPECT_EQ(sessions(), 1U);
  EXPECT_EQ(second.read(), "");
}

TEST_F(ClientsTest, the_limit_is_of_the_process_and_not_of_a_worker) {
  settings_.limits.max_clients = 1;
  SimPeer second(loop_);
  {
    Clients other({.loop = loop_,
                   .guard = *shop_.guard,
                   .own_commands = *shop_.commands,
                   .settings = settings_,
                   .total = total_});
    connect();
    admit(other, second);
    EXPECT_EQ(second.read(), kTooMany);
    EXPECT_EQ(other.count(), 0U);
  }
  EXPECT_EQ(total_.open, 1U);
}

TEST_F(ClientsTest, who_sends_no_more_makes_room_though_redis_owes_a_reply) {
  settings_.limits.max_clients = 1;
  connect_both();
  client_sends("*1\r\n$4\r\nPING\r\n");
  client_.close();
  loop_.run();
  EXPECT_EQ(sessions(), 1U) << "the reply may still come, and be wanted";
  loop_.pass(Silence::kVainAfter + std::chrono::seconds(1));
  SimPeer second(loop_);
  admit(clients_, second);
  EXPECT_EQ(second.read(), "");
  EXPECT_EQ(sessions(), 1U) << "in the place of the other";
  EXPECT_TRUE(upstream_is_closed_ || client_transport_ == nullptr);
  SimPeer third(loop_);
  admit(clients_, third);
  EXPECT_EQ(third.read(), kTooMany);
}

TEST_F(ClientsTest, who_sends_no_more_is_let_go_when_redis_is_silent_for_too_long) {
  connect_both();
  client_sends("*1\r\n$4\r\nPING\r\n");
  client_.finish();
  loop_.run();
  const auto pass = [this](std::chrono::seconds time) {
    loop_.pass(time);
    loop_.run();
  };
  pass(Silence::kMax - std::chrono::seconds(2));
  EXPECT_EQ(sessions(), 1U);
  redis_sends("$2000000\r\n");
  pass(Silence::kMax - std::chrono::seconds(2));
  EXPECT_EQ(sessions(), 1U) << "Redis is not silent";
  pass(std::chrono::seconds(4));
  EXPECT_EQ(sessions(), 0U);
  EXPECT_EQ(total_.gone, 0U);
  EXPECT_EQ(total_.open, 0U);
}

TEST_F(ClientsTest, who_is_on_the_way_counts_already) {
  clients_.expect();
  clients_.expect();
  EXPECT_EQ(clients_.count(), 2U);
  SimPeer second(loop_);
  auto transport = loop_.accept(second);
  loop_.as_batch([&] { clients_.admit_expected(std::move(transport)); });
  EXPECT_EQ(clients_.count(), 2U);
  loop_.as_batch([&] { clients_.admit_expected(nullptr); });
  EXPECT_EQ(clients_.count(), 1U) << "the other has not come";
}

TEST_F(ClientsTest, a_worker_that_ends_takes_its_clients_out_of_the_count) {
  {
    Clients other({.loop = loop_,
                   .guard = *shop_.guard,
                   .own_commands = *shop_.commands,
                   .settings = settings_,
                   .total = total_});
    admit(other, client_);
    EXPECT_EQ(total_.open, 1U);
  }
  EXPECT_EQ(total_.open, 0U);
}

TEST_F(ClientsTest, one_client_is_not_told_of_another) {
  connect_both();
  SimPeer second(loop_);
  admit(clients_, second);
  client_sends("*1\r\n$4\r\nPING\r\n");
  client_.close();
  redis_sends("+PONG\r\n");
  EXPECT_EQ(second.read(), "");
  EXPECT_FALSE(second.at_end());
}

class SharingClientsTest : public SharingClients {};

// Redis ends the connections of a user that it deletes.
TEST_F(SharingClientsTest, a_user_whose_connection_is_lost_is_doubted) {
  int doubts = 0;
  shop_.facts.set_on_doubt([&doubts](redis::Facts::Urgency) { ++doubts; });
  send(connect(), command("GET user:7"));
  redis_sends(0, kNil);
  redis(0).close();
  loop_.run();
  EXPECT_EQ(doubts, 0) << "it may be nobody's";
  const std::size_t client = connect();
  send(client, command("AUTH word"));
  redis_sends(1, "+OK\r\n");
  send(client, command("GET user:7"));
  const std::size_t shared = upstreams() - 1;
  ASSERT_EQ(redis_got(shared), command("AUTH word"));
  redis_sends(shared, "+OK\r\n");
  EXPECT_EQ(doubts, 0);
  redis(shared).close();
  loop_.run();
  EXPECT_EQ(doubts, 1);
}

}  // namespace
}  // namespace cuckooguard::proxy
