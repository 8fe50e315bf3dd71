// What Redis says about a client's connection is about the client: one connection each, and the
// guard's one besides.

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class ClientList : public SideBySide {
 protected:
  ClientList() { client_.expect_answered(); }

  // Besides the one that asks.
  std::size_t connected() {
    return std::stoul(shop().redis().info("clients", "connected_clients")) - 1;
  }

  Connection client_ = connect();
};

// Of the connection's state; not those of its address, its age, and of buffers that Redis resizes
// when it likes.
constexpr std::array<std::string_view, 15> kState{"argv-mem",
                                                  "cmd",
                                                  "db",
                                                  "events",
                                                  "flags",
                                                  "multi",
                                                  "multi-mem",
                                                  "name",
                                                  "psub",
                                                  "qbuf",
                                                  "redir",
                                                  "resp",
                                                  "ssub",
                                                  "sub",
                                                  "user"};

// "id=3 addr=... name=x"
std::map<std::string, std::string> state_of(const std::string& line) {
  std::map<std::string, std::string> fields;
  std::istringstream words(line);
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(kState, name) != kState.end()) {
      fields[name] = word.substr(equals + 1);
    }
  }
  EXPECT_EQ(fields.size(), kState.size()) << line;
  return fields;
}

std::string shown(const std::map<std::string, std::string>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text.append(name).append("=").append(value).append(" ");
  }
  return text;
}

TEST_F(ClientList, info_is_that_of_a_client_without_a_guard) {
  struct State {
    std::string request;
    std::size_t replies;
  };
  const std::vector<State> states{
      {command({"PING"}), 1},
      {command({"CLIENT", "SETNAME", "somebody"}), 1},
      {command({"SELECT", "3"}), 1},
      {command({"HELLO", "3"}), 1},
      {command({"WATCH", user(1)}), 1},
      {command({"CLIENT", "NO-EVICT", "ON"}), 1},
      {command({"SUBSCRIBE", "a", "b"}), 2},
      {command({"GET", user(1)}), 1},
  };
  for (const State& state : states) {
    client_.same(state.request, state.replies);
    const std::string request = command({"CLIENT", "INFO"});
    const auto straight = state_of(client_.straight().exchange(request, 1));
    const auto guarded = state_of(client_.guarded().exchange(request, 1));
    EXPECT_EQ(shown(guarded), shown(straight)) << state.request;
    EXPECT_EQ(guarded.at("qbuf"), straight.at("qbuf")) << "one command, as it was sent";
  }
}

TEST_F(ClientList, has_one_line_for_each_client_and_one_for_the_guard) {
  std::vector<Connection> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(connect());
    clients.back().same({"CLIENT", "SETNAME", "client" + std::to_string(i)});
  }
  ASSERT_TRUE(eventually([this] { return connected() == 7; })) << "five, this one and the guard's";
  const std::string list = client_.guarded().call({"CLIENT", "LIST"});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(list.contains("name=client" + std::to_string(i) + " ")) << harness::shown(list);
  }
  clients.clear();
  EXPECT_TRUE(eventually([this] { return connected() == 2; }));
}

TEST_F(ClientList, counts_clients_and_the_one_control_connection_exactly) {
  EXPECT_TRUE(eventually([this] { return connected() == 2; }));
  {
    std::vector<Connection> clients;
    for (std::size_t i = 1; i <= 20; ++i) {
      clients.push_back(connect());
      clients.back().expect_answered();  // whether it has needed Redis or not
      EXPECT_EQ(connected(), 2 + i);
    }
  }
  EXPECT_TRUE(eventually([this] { return connected() == 2; }));
}

TEST_F(ClientList, ids_grow_and_are_found_by_the_list) {
  same_both_ways([](Side& side) {
    RawClient first = side.connect();
    first.call({"PING"});  // its connection to Redis is there before another one is opened
    RawClient second = side.connect();
    const auto id = [](RawClient& client) {
      const std::string reply = client.call({"CLIENT", "ID"});
      return reply.substr(1, reply.size() - 3);
    };
    const std::string id_of_first = id(first);
    EXPECT_EQ(id(first), id_of_first);
    EXPECT_LT(std::stoull(id_of_first), std::stoull(id(second)));
    const std::string line = first.call({"CLIENT", "LIST", "ID", id(second)});
    EXPECT_TRUE(line.contains("id=" + id(second) + " ")) << harness::shown(line);
    return shown(state_of(line)) + first.call({"CLIENT", "LIST", "ID", "x"});
  });
  client_.expect_answered();
}

TEST_F(ClientList, names_are_kept_and_refused_by_redis) {
  client_.same({"CLIENT", "GETNAME"});
  client_.same({"CLIENT", "SETNAME", "somebody"});
  client_.expect_answered();
  client_.same({"CLIENT", "GETNAME"});
  client_.same({"CLIENT", "SETNAME", "not one"});
  client_.same({"CLIENT", "SETNAME", ""});
  client_.same({"CLIENT", "GETNAME"});
  client_.same({"CLIENT", "SETINFO", "LIB-NAME", "lib"});  // Redis 7.2's, which clients try
  client_.same({"CLIENT", "HELP"});
  client_.same({"CLIENT", "GETREDIR"});
  client_.expect_answered();
  connect().same(command({"CLIENT", "NOSUCH"}) + command({"CLIENT"}) + command({"GET", user(1)}),
                 3);
}

// Of later releases, which clients try, or of none: Redis refuses them, and nothing has changed.
TEST_F(ClientList, guarding_resumes_after_subcommands_that_redis_does_not_know) {
  client_.same(command({"CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "none"}), 1);
  client_.expect_answered();
  client_.same(command({"CLIENT", "NOSUCH"}) + command({"CLIENT"}), 2);
  client_.expect_answered();
}

TEST_F(ClientList, absent_reads_count_in_no_statistics_of_redis) {
  wait_until_both([](const RedisServer& redis) { return redis.call({"PING"}) == kPong; });
  shop().redis().call({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) {
    client_.expect_answered();
  }
  EXPECT_EQ(shop().redis().calls("get"), 0U);
  EXPECT_EQ(shop().redis().info("stats", "keyspace_misses"), "0");
}

}  // namespace
}  // namespace cuckooguard::harness
