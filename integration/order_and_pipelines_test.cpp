// Replies come in the order of the commands, whoever gives them: Redis, the guard, or both in one
// reply.

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/same_bytes.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class OrderAndPipelines : public testing::Test {
 protected:
  void SetUp() override {
    shop_.wait_until_it_answers();
    for (const std::uint64_t id : {1, 2, 3}) {
      shop_.redis().call({"SET", user(id), "value " + std::to_string(id)});
    }
    absents_ = shop_.find_absent_users(1000);
    gets_before_ = shop_.redis().calls("get");
  }

  static std::string value(std::uint64_t id) { return bulk("value " + std::to_string(id)); }

  Shop shop_;
  std::vector<std::string> absents_;
  std::uint64_t gets_before_ = 0;  // that have reached Redis before the test
};

// Below `inflight_per_client`, so that all of them may be answered here.
TEST_F(OrderAndPipelines, hits_and_absents_mixed_are_replied_in_order) {
  constexpr std::size_t kRounds = 20;
  constexpr std::size_t kCommands = 1000;
  RawClient client = shop_.client();
  std::size_t asked = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::string request;
    std::string expected;
    for (std::size_t i = 0; i < kCommands; ++i) {
      // Runs of both kinds, of one and of several; and replies of every length.
      if ((i * 7 / 3 + round) % 4 < 2) {
        request += command({"GET", absents_[i]});
        expected += absent_reply();
        ++asked;
      } else {
        const std::string text = std::to_string(round * kCommands + i) + std::string(i % 50, 'x');
        request += command({"ECHO", text});
        expected += bulk(text);
      }
    }
    ASSERT_TRUE(same_bytes(client.exchange(request, kCommands), expected)) << "round " << round;
  }
  EXPECT_GT(asked, kRounds * kCommands / 3);
  EXPECT_EQ(shop_.redis().calls("get"), gets_before_) << asked << " were to be answered here";
}

TEST_F(OrderAndPipelines, an_absent_waits_behind_a_blocking_command) {
  RawClient client = shop_.client();
  client.send(command({"GET", user(1)}) + command({"BLPOP", "queue", "0"}) +
              command({"GET", absents_[1]}) + command({"GET", user(2)}) +
              command({"GET", absents_[2]}) + command({"BLPOP", "queue", "0"}) +
              command({"GET", absents_[3]}));
  EXPECT_EQ(client.read_reply(), value(1));
  ASSERT_TRUE(
      eventually([this] { return shop_.redis().info("clients", "blocked_clients") == "1"; }));
  // Other clients are not held up, and what this one gets next is the list's element.
  EXPECT_EQ(shop_.guard().call({"GET", absents_[4]}), absent_reply());
  shop_.redis().call({"RPUSH", "queue", "first"});
  EXPECT_EQ(client.read_reply(), "*2\r\n" + bulk("queue") + bulk("first"));
  EXPECT_EQ(client.read_replies(3), absent_reply() + value(2) + absent_reply());
  ASSERT_TRUE(
      eventually([this] { return shop_.redis().info("clients", "blocked_clients") == "1"; }));
  shop_.redis().call({"RPUSH", "queue", "second"});
  EXPECT_EQ(client.read_reply(), "*2\r\n" + bulk("queue") + bulk("second"));
  EXPECT_EQ(client.read_reply(), absent_reply());
}

TEST_F(OrderAndPipelines, a_key_written_in_the_same_pipeline_is_read) {
  RawClient client = shop_.client();
  const std::string& key = absents_[7];
  EXPECT_EQ(
      client.exchange(command({"GET", key}) + command({"SET", key, "new"}) + command({"GET", key}) +
                          command({"DEL", key}) + command({"GET", key}) +
                          command({"APPEND", key, "again"}) + command({"GET", key}),
                      7),
      absent_reply() + std::string(kOk) + bulk("new") + ":1\r\n" + std::string(kNil) + ":5\r\n" +
          bulk("again"));
}

// Each of four elements is a value, a nil of Redis's, or absent: every combination.
TEST_F(OrderAndPipelines, mget_merges_absent_elements_in_every_position) {
  constexpr int kElements = 4;
  constexpr int kCombinations = 3 * 3 * 3 * 3;
  const std::array<std::string, 3> keys{user(1), user(500), absents_[9]};
  for (const std::string_view nil : {kNil, std::string_view("_\r\n")}) {
    RawClient client = shop_.client();
    if (nil != kNil) {
      client.call({"HELLO", "3"});
    }
    const std::array<std::string, 3> elements{value(1), std::string(nil), absent_reply()};
    std::string request;
    std::string expected;
    for (int combination = 0; combination < kCombinations; ++combination) {
      std::vector<std::string_view> arguments{"MGET"};
      expected += "*4\r\n";
      for (int i = 0, rest = combination; i < kElements; ++i, rest /= 3) {
        arguments.push_back(keys.at(static_cast<std::size_t>(rest % 3)));
        expected += elements.at(static_cast<std::size_t>(rest % 3));
      }
      request += command(arguments);
    }
    EXPECT_TRUE(same_bytes(client.exchange(request, kCombinations), expected)) << shown(nil);
  }
}

TEST_F(OrderAndPipelines, an_mget_that_redis_refuses_is_refused_and_the_next_replies_are_in_place) {
  shop_.redis().call({"ACL", "SETUSER", "reader", "on", ">word", "~user:1", "+@all"});
  // An unrestricted user, so that the guard answers; Redis then refuses in the middle of a
  // pipeline.
  RawClient client = shop_.client();
  const std::string merged = command({"MGET", absents_[1], user(1), absents_[2]});
  EXPECT_EQ(client.exchange(merged + merged, 2),
            "*3\r\n" + absent_reply() + value(1) + absent_reply() + "*3\r\n" + absent_reply() +
                value(1) + absent_reply());
  EXPECT_EQ(client.call({"AUTH", "reader", "word"}), kOk);
  const std::string refused = client.exchange(merged + command({"GET", user(1)}), 2);
  EXPECT_TRUE(refused.starts_with("-NOPERM")) << shown(refused);
  EXPECT_TRUE(refused.ends_with("\r\n" + value(1))) << shown(refused);
}

TEST_F(OrderAndPipelines, exists_counts_a_key_as_often_as_it_is_named) {
  RawClient client = shop_.client();
  const std::string& a = absents_[1];
  const std::string request = command({"EXISTS", a}) + command({"EXISTS", a, a, a}) +
                              command({"EXISTS", user(1), a, user(1), a, user(2)}) +
                              command({"EXISTS", a, user(500), a, user(3)}) +
                              command({"EXISTS", "unguarded", a});
  EXPECT_EQ(client.exchange(request, 5), ":0\r\n:0\r\n:3\r\n:1\r\n:0\r\n");
  EXPECT_EQ(shop_.redis().calls("exists"), 3U);
}

TEST_F(OrderAndPipelines, input_that_comes_byte_by_byte_is_understood_the_same) {
  const std::string& absent = absents_[1];
  const std::string request = command({"GET", user(1)}) + command({"GET", absent}) + "GET " +
                              absent + "\r\n" + "\r\n" + "get \"" + user(2) + "\"\r\n" +
                              command({"MGET", absent, user(3)}) + "*0\r\n" + command({"PING"});
  const std::string expected = value(1) + absent_reply() + absent_reply() + value(2) + "*2\r\n" +
                               absent_reply() + value(3) + std::string(kPong);
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < request.size(); ++i) {
    cuts.push_back(i);
  }
  RawClient client = shop_.client();
  client.send_cut(request, cuts);
  EXPECT_EQ(client.read_replies(6), expected);
  EXPECT_EQ(client.exchange(request, 6), expected);
  EXPECT_EQ(shop_.redis().calls("get"), gets_before_ + 4) << "twice user 1 and user 2";
}

TEST_F(OrderAndPipelines, many_clients_get_their_own_replies) {
  constexpr std::size_t kClients = 20;
  constexpr std::size_t kEach = 200;
  std::vector<RawClient> clients;
  clients.reserve(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(shop_.client());
  }
  const auto own_text = [](std::size_t client, std::size_t i) {
    return std::to_string(client) + "." + std::to_string(i);
  };
  for (std::size_t i = 0; i < kEach; ++i) {
    for (std::size_t at = 0; at < kClients; ++at) {
      clients[at].send(command({"ECHO", own_text(at, i)}) + command({"GET", absents_[i]}));
    }
  }
  for (std::size_t at = 0; at < kClients; ++at) {
    std::string expected;
    for (std::size_t i = 0; i < kEach; ++i) {
      expected += bulk(own_text(at, i)) + absent_reply();
    }
    EXPECT_TRUE(same_bytes(clients[at].read_replies(2 * kEach), expected)) << "client " << at;
  }
  EXPECT_EQ(shop_.redis().calls("get"), gets_before_);
}

}  // namespace
}  // namespace cuckooguard::harness
