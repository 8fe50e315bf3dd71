// `upstream.mode: shared`: many clients on few connections, and none can tell.
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class SharedUpstream : public testing::Test {
 protected:
  SharedUpstream() { shop_.wait_until_it_answers(); }

  static ShopSettings settings() {
    ShopSettings settings;
    settings.mode = "shared";
    return settings;
  }

  std::size_t connections() {
    return std::stoull(shop_.redis().info("clients", "connected_clients"));
  }

  Shop shop_{settings()};
};

TEST_F(SharedUpstream, a_hundred_clients_are_two_connections_for_each_worker) {
  const std::size_t before = connections();
  std::vector<RawClient> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(shop_.client());
    EXPECT_EQ(clients.back().call({"SET", "k", "v"}), kOk);
    EXPECT_EQ(clients.back().call({"SELECT", "0"}), kOk);
    EXPECT_EQ(clients.back().call({"GET", "k"}), bulk("v"));
  }
  EXPECT_LE(connections(), before + 6)
      << "two workers, for reads and for writes, and what is kept for the next SELECT";
}

// Two connections race: where the transaction is sent before the reply of SET has come, Redis may
// read it first.
TEST_F(SharedUpstream, a_transaction_never_overtakes_the_write_before_it) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  others.reserve(4);
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([this, &stop] {
      RawClient client = shop_.client();
      std::string batch;
      for (int n = 0; n < 32; ++n) {
        batch += command({"SET", "other", std::string(500, 'x')});
      }
      while (!stop) {
        client.exchange(batch, 32);
      }
    });
  }
  std::vector<std::thread> racers;
  racers.reserve(3);
  std::atomic<int> wrong{0};
  for (int r = 0; r < 3; ++r) {
    racers.emplace_back([this, &wrong, r] {
      RawClient client = shop_.client();
      const std::string key = "race:" + std::to_string(r);
      for (int n = 0; n < 2000; ++n) {
        const std::string value = std::to_string(n);
        const std::string replies =
            client.exchange(command({"SET", key, value}) + command({"MULTI"}) +
                                command({"GET", key}) + command({"EXEC"}) + command({"GET", key}),
                            5);
        const std::string expected =
            std::string(kOk) + std::string(kOk) + "+QUEUED\r\n*1\r\n" + bulk(value) + bulk(value);
        wrong += replies == expected ? 0 : 1;
      }
    });
  }
  for (std::thread& racer : racers) {
    racer.join();
  }
  stop = true;
  for (std::thread& other : others) {
    other.join();
  }
  EXPECT_EQ(wrong, 0);
}

// A subscriber's messages, a blocked client's element and everybody's replies come to whom they
// belong.
TEST_F(SharedUpstream, who_waits_holds_up_nobody) {
  RawClient blocked = shop_.client();
  RawClient subscribed = shop_.client();
  RawClient other = shop_.client();
  blocked.send(command({"BLPOP", "list", "0"}));
  EXPECT_TRUE(subscribed.call({"SUBSCRIBE", "news"}).ends_with(":1\r\n"));
  ASSERT_TRUE(
      eventually([this] { return shop_.redis().info("clients", "blocked_clients") == "1"; }));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(other.call({"ECHO", std::to_string(i)}), bulk(std::to_string(i)));
  }
  EXPECT_EQ(other.call({"PUBLISH", "news", "hello"}), ":1\r\n");
  EXPECT_TRUE(subscribed.read_reply().ends_with("$5\r\nhello\r\n"));
  EXPECT_EQ(other.call({"RPUSH", "list", "a"}), ":1\r\n");
  EXPECT_EQ(blocked.read_reply(), "*2\r\n" + bulk("list") + bulk("a"));
  EXPECT_EQ(blocked.call({"GET", absent_user()}), absent_reply());
}

TEST_F(SharedUpstream, a_client_that_never_reads_its_60_mb_costs_no_more_and_slows_nobody) {
  constexpr std::size_t kValue = 400'000;
  constexpr std::size_t kReads = 150;
  shop_.redis().call({"SET", "page", std::string(kValue, 'p')});
  RawClient slow = shop_.client();
  std::string request;
  for (std::size_t i = 0; i < kReads; ++i) {
    request += command({"GET", "page"});
  }
  const std::size_t before = shop_.guard().resident_bytes_max();
  slow.send(request);
  RawClient other = shop_.client();
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(other.exchange(command({"GET", absent_user()}) + command({"PING"}), 2),
              absent_reply() + std::string(kPong));
  }
  const std::size_t grown = shop_.guard().resident_bytes_max() - before;
  std::printf("%zu bytes held of %zu\n", grown, kReads * kValue);
  if (!under_sanitizer()) {
    EXPECT_LE(grown, kReads * kValue + (std::size_t{8} << 20));
  }
  for (std::size_t i = 0; i < kReads; ++i) {
    ASSERT_EQ(slow.read_reply().size(), kValue + 11);
  }
}

TEST_F(SharedUpstream, wait_waits_for_the_writes_that_other_connections_have_sent) {
  RawClient client = shop_.client();
  EXPECT_EQ(client.exchange(command({"SET", "k", "v"}) + command({"WAIT", "0", "100"}), 2),
            std::string(kOk) + ":0\r\n");
  EXPECT_EQ(client.call({"WAIT", "1", "50"}), ":0\r\n");
}

TEST_F(SharedUpstream, a_user_that_is_deleted_is_cut_off) {
  shop_.redis().call({"ACL", "SETUSER", "shop", "on", ">word", "~*", "&*", "+@all"});
  RawClient client = shop_.client();
  RawClient idle = shop_.client();
  for (RawClient* each : {&client, &idle}) {
    ASSERT_EQ(each->call({"AUTH", "shop", "word"}), kOk);
    ASSERT_TRUE(eventually([&] { return each->call({"GET", absent_user()}) == absent_reply(); }));
    ASSERT_EQ(each->call({"SET", "k", "v"}), kOk);
  }
  shop_.redis().call({"ACL", "DELUSER", "shop"});
  ASSERT_TRUE(eventually(
      [&] { return client.is_closed_by_peer() || !client.try_send(command({"SET", "k", "w"})); }));
  // Whoever has shared with it: as soon as Redis has been asked, nothing is answered any more, and
  // what it asks ends it.
  std::array<char, 64> reply{};
  EXPECT_TRUE(eventually([&] {
    return idle.is_closed_by_peer() || !idle.try_send(command({"GET", absent_user()})) ||
           idle.read_some(reply) == 0;
  }));
  EXPECT_EQ(shop_.redis().call({"GET", "k"}), bulk("v"));
}

TEST_F(SharedUpstream, a_changed_password_leaves_who_is_in_and_lets_nobody_in_with_the_old_one) {
  shop_.redis().call({"ACL", "SETUSER", "shop", "on", ">old", "~*", "&*", "+@all"});
  RawClient in = shop_.client();
  ASSERT_EQ(in.call({"AUTH", "shop", "old"}), kOk);
  ASSERT_EQ(in.call({"SET", "k", "v"}), kOk);
  shop_.redis().call({"ACL", "SETUSER", "shop", "resetpass", ">new"});
  EXPECT_EQ(in.call({"GET", "k"}), bulk("v"));
  RawClient late = shop_.client();
  EXPECT_TRUE(late.call({"AUTH", "shop", "old"}).starts_with("-WRONGPASS"));
  EXPECT_EQ(late.call({"ACL", "WHOAMI"}), bulk("default"));
  EXPECT_EQ(late.call({"AUTH", "shop", "new"}), kOk);
  EXPECT_EQ(late.call({"ACL", "WHOAMI"}), bulk("shop"));
}

// Redis keeps those in that are connected; of the guard it wants a login for a new connection.
TEST_F(SharedUpstream, a_password_that_is_set_refuses_single_commands_and_cuts_off_nobody) {
  RawClient administrator = shop_.client();
  RawClient client = shop_.client();
  ASSERT_EQ(administrator.call({"SET", "k", "v"}), kOk);
  ASSERT_EQ(client.call({"GET", "k"}), bulk("v"));
  ASSERT_EQ(administrator.call({"ACL", "SETUSER", "default", "resetpass", ">word"}), kOk);
  for (const std::string& refused : {command({"CLIENT", "NO-EVICT", "on"}),
                                     command({"CLIENT", "ID"}),
                                     command({"CLIENT", "INFO"}),
                                     command({"CLIENT", "TRACKING", "on"}),
                                     command({"CLIENT", "GETREDIR"}),
                                     command({"CLIENT", "REPLY", "OFF"}),
                                     command({"MONITOR"}),
                                     command({"PSYNC", "?", "-1"})}) {
    for (RawClient* each : {&administrator, &client}) {
      EXPECT_EQ(each->exchange(refused, 1), "-NOAUTH Authentication required.\r\n") << refused;
      EXPECT_EQ(each->call({"GET", "k"}), bulk("v")) << refused;
    }
  }
  ASSERT_EQ(administrator.call({"AUTH", "word"}), kOk);
  EXPECT_TRUE(administrator.call({"CLIENT", "ID"}).starts_with(":"));
  EXPECT_EQ(administrator.call({"GET", "k"}), bulk("v"));
  ASSERT_EQ(administrator.call({"ACL", "SETUSER", "default", "nopass"}), kOk);
  EXPECT_TRUE(client.call({"CLIENT", "ID"}).starts_with(":"));
}

// As on connections of their own, and as those that have named the user.
TEST_F(SharedUpstream, a_password_that_is_removed_closes_nobody_who_has_given_it) {
  shop_.redis().call({"ACL", "SETUSER", "default", "resetpass", ">word"});
  RawClient client = shop_.client();
  RawClient idle = shop_.client();
  RawClient named = shop_.client();
  for (RawClient* each : {&client, &idle}) {
    ASSERT_EQ(each->call({"AUTH", "word"}), kOk);
  }
  ASSERT_EQ(named.call({"AUTH", "default", "word"}), kOk);
  for (RawClient* each : {&client, &idle, &named}) {
    ASSERT_EQ(each->call({"SET", "k", "v"}), kOk);
  }
  ASSERT_EQ(client.call({"ACL", "SETUSER", "default", "nopass"}), kOk);
  // All that the guard has is set up again.
  ASSERT_NE(shop_.redis().call({"CLIENT", "KILL", "TYPE", "normal"}), ":0\r\n");
  for (RawClient* each : {&client, &named}) {
    EXPECT_EQ(each->call({"GET", "k"}), bulk("v"));
    EXPECT_EQ(each->exchange(command({"MULTI"}) + command({"EXEC"}), 2),
              std::string(kOk) + "*0\r\n");
    EXPECT_TRUE(each->call({"CLIENT", "ID"}).starts_with(":"));
  }
  EXPECT_EQ(idle.call({"GET", "k"}), bulk("v"));
}

TEST_F(SharedUpstream, clients_without_replies_to_come_survive_a_restart_of_redis) {
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"SET", "k", "v"}), kOk);
  shop_.redis().stop();
  shop_.redis().start_again();
  EXPECT_EQ(client.call({"GET", "k"}), kNil);
}

}  // namespace
}  // namespace cuckooguard::harness
