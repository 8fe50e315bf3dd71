// CLIENT KILL names connections as Redis knows them; the client behind one sees it closed.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class ClientKill : public SideBySide {
 protected:
  ClientKill() { connect().expect_answered(); }
};

std::string id_of(RawClient& client) {
  const std::string reply = client.call({"CLIENT", "ID"});
  return reply.substr(1, reply.size() - 3);
}

// The value of ` name=` in CLIENT INFO.
std::string field_of(RawClient& client, const std::string& name) {
  const std::string info = client.call({"CLIENT", "INFO"});
  const std::size_t at = info.find(" " + name + "=");
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t begin = at + name.size() + 2;
  return info.substr(begin, info.find(' ', begin) - begin);
}

TEST_F(ClientKill, by_id_address_and_name_of_the_user_closes_the_client) {
  same_both_ways([](Side& side) {
    side.redis.call({"ACL", "SETUSER", "victim", "on", "nopass", "+@all", "~*"});
    RawClient killer = side.connect();
    std::string seen;
    {
      RawClient victim = side.connect();
      seen += killer.call({"CLIENT", "KILL", "ID", id_of(victim)});
      seen += "[" + victim.read_until_closed() + "]";
    }
    {
      RawClient victim = side.connect();
      seen += killer.call({"CLIENT", "KILL", "ADDR", field_of(victim, "addr")});
      seen += "[" + victim.read_until_closed() + "]";
    }
    {
      RawClient victim = side.connect();
      seen += killer.call({"CLIENT", "KILL", field_of(victim, "addr")});  // the old form
      seen += "[" + victim.read_until_closed() + "]";
    }
    {
      RawClient victim = side.connect();
      seen += victim.call({"AUTH", "victim", ""});
      seen += killer.call({"CLIENT", "KILL", "USER", "victim"});
      seen += "[" + victim.read_until_closed() + "]";
    }
    {
      RawClient victim = side.connect();
      seen += victim.call({"SUBSCRIBE", "news"});
      seen += killer.call({"CLIENT", "KILL", "TYPE", "PUBSUB"});
      seen += "[" + victim.read_until_closed() + "]";
    }
    seen += killer.call({"CLIENT", "KILL", "ID", "999999999"});
    seen += killer.call({"CLIENT", "KILL", "1.2.3.4:5"});
    seen += killer.call({"CLIENT", "KILL", "NOSUCH", "x"});
    return seen + killer.call({"CLIENT", "KILL", "ID", "x"});
  });
  connect().expect_answered();
}

TEST_F(ClientKill, of_one_that_waits_or_has_more_to_come_closes_it) {
  same_both_ways([](Side& side) {
    RawClient killer = side.connect();
    RawClient waiting = side.connect();
    const std::string id = id_of(waiting);
    waiting.send(command({"GET", user(1)}) + command({"BLPOP", "queue", "0"}) +
                 command({"SET", "behind", "x"}));
    std::string seen = waiting.read_reply();
    EXPECT_TRUE(eventually([&] { return side.redis.info("clients", "blocked_clients") == "1"; }));
    seen += killer.call({"CLIENT", "KILL", "ID", id});
    seen += waiting.read_until_closed();
    return seen + killer.call({"EXISTS", "behind"});
  });
}

TEST_F(ClientKill, of_oneself_is_replied_to_first) {
  same_both_ways([](Side& side) {
    RawClient client = side.connect();
    client.send(command({"CLIENT", "KILL", "SKIPME", "no", "ID", id_of(client)}) +
                command({"SET", "behind", "x"}));
    return client.read_until_closed() + side.redis.call({"EXISTS", "behind"});
  });
}

// All but the one that asks; with the guard's own one there is one more to be killed.
TEST_F(ClientKill, of_all_normal_ones_spares_who_asks_and_guarding_goes_on) {
  std::vector<Connection> victims;
  for (int i = 0; i < 3; ++i) {
    victims.push_back(connect());
    victims.back().expect_answered();
    victims.back().same({"PING"});
  }
  Connection killer = connect();
  killer.same({"PING"});
  // None of other tests' ways is still closing: three, the killer, who asks here; and the guard's
  // own.
  const auto connected = [](const RedisServer& redis) {
    return redis.info("clients", "connected_clients");
  };
  ASSERT_TRUE(eventually([&] { return connected(this->straight()) == "5"; }));
  ASSERT_TRUE(eventually([&] { return connected(shop().redis()) == "6"; }));
  const std::string straight = killer.straight().call({"CLIENT", "KILL", "TYPE", "normal"});
  const std::string guarded = killer.guarded().call({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_EQ(straight, ":3\r\n");
  EXPECT_EQ(guarded, ":4\r\n") << "the clients and the guard's control connection";
  for (Connection& victim : victims) {
    victim.same_until_closed("");
  }
  killer.same({"PING"});
  // Until the control connection stands again, clients that use Redis get Redis's word.
  EXPECT_TRUE(
      eventually([&] { return killer.guarded().call({"GET", absent_user()}) == absent_reply(); }));
  killer.expect_answered();
  connect().expect_answered();
}

TEST_F(ClientKill, guarding_goes_on_for_clients_that_connect_again) {
  for (int round = 0; round < 5; ++round) {
    Connection victim = connect();
    victim.expect_answered();
    const std::string id = id_of(victim.guarded());
    EXPECT_EQ(shop().redis().call({"CLIENT", "KILL", "ID", id}), ":1\r\n");
    EXPECT_EQ(victim.guarded().read_until_closed(), "");
  }
  connect().expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
