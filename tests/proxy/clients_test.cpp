#include "proxy/clients.h"

#include <gtest/gtest.h>

#include "proxied_client.h"

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
    Clients other({.loop = loop_, .guard = *shop_.guard, .settings = settings_, .total = total_});
    connect();
    admit(other, second);
    EXPECT_EQ(second.read(), kTooMany);
    EXPECT_EQ(other.count(), 0U);
  }
  EXPECT_EQ(total_.open, 1U);
}

TEST_F(ClientsTest, a_worker_that_ends_takes_its_clients_out_of_the_count) {
  {
    Clients other({.loop = loop_, .guard = *shop_.guard, .settings = settings_, .total = total_});
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

}  // namespace
}  // namespace cuckooguard::proxy
