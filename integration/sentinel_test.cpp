// In front of a master that Sentinels watch over: clients reach whoever is master, and notice of a
// failover what they would without the guard, or less.
//
// CUCKOOGUARD_ROUNDS makes it longer: so many failovers.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "fixtures/guarded_sentinels.h"
#include "harness/raw_client.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using ::testing::HasSubstr;

// Clients that write and read without a pause, and come again when they are closed.
class BusyClients {
 public:
  // They read by this command, which tells whose a read is.
  BusyClients(std::size_t count,
              std::string read,
              std::string reply,
              std::function<RawClient()> connect)
      : read_(std::move(read)),
        reply_(std::move(reply)),
        connect_(std::move(connect)),
        clients_(count) {
    for (Client& client : clients_) {
      client.thread = std::jthread([this, &client](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          try {
            talk(client, stop);
          } catch (const std::runtime_error&) {  // closed, or not there
            continue;
          }
        }
      });
    }
  }
  BusyClients(const BusyClients&) = delete;
  BusyClients& operator=(const BusyClients&) = delete;
  ~BusyClients() = default;

  // Each has had so many more replies.
  void wait_for(std::uint64_t more) const {
    for (const Client& client : clients_) {
      const std::uint64_t before = client.served;
      EXPECT_TRUE(eventually([&] { return client.served >= before + more; })) << read_;
    }
  }
  void begin() {
    for (Client& client : clients_) {
      client.longest_pause = milliseconds(0);
    }
  }
  // In which one of them was not served, since begin().
  milliseconds longest_pause() const {
    milliseconds longest{0};
    for (const Client& client : clients_) {
      longest = std::max(longest, client.longest_pause.load());
    }
    return longest;
  }

 private:
  struct Client {
    std::atomic<std::uint64_t> served{0};
    std::atomic<milliseconds> longest_pause{milliseconds(0)};
    SteadyClock::time_point served_at = SteadyClock::now();
    std::jthread thread{};  // last: ends first
  };

  // A demoted node still reads, so whoever is refused a write comes again. What is read is what was
  // written: a busy machine may have its masters change before anything is replicated.
  void talk(Client& client, const std::stop_token& stop) {
    RawClient connection = connect_();
    while (!stop.stop_requested()) {
      if (connection.call({"SET", user(1), "one"}) != kOk ||
          connection.call({read_, user(1)}) != reply_) {
        return;
      }
      const auto now = SteadyClock::now();
      const auto pause = std::chrono::duration_cast<milliseconds>(now - client.served_at);
      client.longest_pause = std::max(client.longest_pause.load(), pause);
      client.served_at = now;
      ++client.served;
    }
  }

  std::string read_;
  std::string reply_;
  std::function<RawClient()> connect_;
  std::deque<Client> clients_;
};

class Sentinel : public GuardedSentinels {
 protected:
  // As clients do without the guard.
  RawClient master_as_sentinels_say() const {
    for (std::size_t i = 0; i < 3; ++i) {
      if (const auto master = sentinels_.master(i)) {
        return sentinels_.node(*master).client();
      }
    }
    throw std::runtime_error("no Sentinel knows the master");
  }
};

TEST_F(Sentinel, leads_clients_to_the_master_and_answers_for_it) {
  const std::uint64_t before = sentinels_.node(0).calls("get");
  EXPECT_EQ(guard_->call({"GET", absent_user()}), absent_reply());
  EXPECT_EQ(sentinels_.node(0).calls("get"), before);
  EXPECT_EQ(guard_->call({"SET", "here", "1"}), kOk);
  EXPECT_EQ(sentinels_.node(0).call({"GET", "here"}), bulk("1"));
  EXPECT_THAT(guard_->log(), HasSubstr("event=redis_master address=" + address(0)));
}

TEST_F(Sentinel, one_that_answers_is_enough_and_none_changes_nothing) {
  sentinels_.kill_sentinel(0);
  sentinels_.kill_sentinel(1);
  guard_->restart(yaml());
  EXPECT_TRUE(eventually([this] { return try_guard({"SET", "here", "1"}) == kOk; }));
  sentinels_.kill_sentinel(2);
  EXPECT_TRUE(eventually([this] { return guard_->log().contains("event=sentinels_silent"); }));
  EXPECT_EQ(guard_->call({"GET", "here"}), bulk("1"));
  EXPECT_TRUE(eventually([this] { return answers(); }));
}

TEST_F(Sentinel, who_has_something_with_the_old_master_is_closed_and_the_others_go_on) {
  const bool is_shared = upstream_mode() == "shared";
  RawClient idle = guard_->client();
  RawClient in_transaction = guard_->client();
  RawClient blocked = guard_->client();
  EXPECT_EQ(idle.call({"GET", user(1)}), bulk("one"));
  EXPECT_EQ(in_transaction.call({"MULTI"}), kOk);
  blocked.send(command({"BLPOP", "nothing", "0"}));
  EXPECT_TRUE(
      eventually([this] { return sentinels_.node(0).info("clients", "blocked_clients") == "1"; }));
  const std::size_t master = fail_over_by_command();
  EXPECT_EQ(in_transaction.read_until_closed(), "");
  EXPECT_THAT(blocked.read_until_closed(), testing::AnyOf("", HasSubstr("-UNBLOCKED")));
  if (is_shared) {
    EXPECT_EQ(idle.call({"SET", "here", "1"}), kOk) << "it does not notice";
    EXPECT_EQ(sentinels_.node(master).call({"GET", "here"}), bulk("1"));
  } else {
    EXPECT_EQ(idle.read_until_closed(), "");
  }
  EXPECT_TRUE(eventually([this] { return answers(); })) << "the new master is known, too";
}

class SentinelWithNodePorts : public GuardedSentinels {
 protected:
  SentinelWithNodePorts() : GuardedSentinels(Wish{.node_ports = 3}) {}

  // The port of the node that takes writes.
  std::uint16_t masters_port() const {
    for (std::uint16_t i = 1; i <= 3; ++i) {
      const auto port = static_cast<std::uint16_t>(guard_->sentinel_port() + i);
      try {
        if (RawClient::to_port(port).call({"SET", "probe", "1"}) == kOk) {
          return port;
        }
      } catch (const std::runtime_error&) {
        continue;  // it leads nowhere yet
      }
    }
    return 0;
  }
};

// Which may go on taking writes for as long as no Sentinel tells it.
TEST_F(SentinelWithNodePorts, clients_of_the_old_masters_port_are_closed_at_the_switch) {
  std::uint16_t port = 0;
  ASSERT_TRUE(eventually([&] { return (port = masters_port()) != 0; })) << guard_->log();
  RedisServer& before = sentinels_.node(*sentinels_.master());
  ASSERT_EQ(before.call({"ACL", "SETUSER", "default", "-replicaof", "-slaveof"}), kOk);
  RawClient client = RawClient::to_port(port);
  EXPECT_EQ(client.call({"WATCH", "x"}), kOk);
  fail_over_by_command();
  EXPECT_EQ(client.read_until_closed(), "");
  EXPECT_EQ(before.info("replication", "role"), "master") << "it has not been told";
}

TEST_F(Sentinel, every_client_is_served_again_and_by_nobody_who_was_demoted) {
  constexpr std::size_t kClients = 2;
  BusyClients guarded(kClients, "GET", bulk("one"), [this] { return guard_->client(); });
  BusyClients direct(kClients, "STRLEN", ":3\r\n", [this] { return master_as_sentinels_say(); });
  const unsigned rounds = rounds_of_this_run(2);
  for (unsigned round = 0; round < rounds; ++round) {
    const bool is_crash = round % 2 == 1;
    const std::size_t before = *sentinels_.master();
    guarded.wait_for(10);
    direct.wait_for(10);
    guarded.begin();
    direct.begin();
    const std::size_t master = is_crash ? fail_over_by_crash() : fail_over_by_command();
    // One that was demoted would answer if it were asked.
    const auto asked = [&] { return is_crash ? 0 : sentinels_.node(before).calls("get"); };
    const std::uint64_t asked_before = asked();
    guarded.wait_for(100);
    EXPECT_EQ(asked(), asked_before);
    direct.wait_for(10);
    std::printf("%s: the longest pause of a client: %lld ms directly, %lld ms through the guard\n",
                is_crash ? "kill -9" : "SENTINEL FAILOVER",
                static_cast<long long>(direct.longest_pause().count()),
                static_cast<long long>(guarded.longest_pause().count()));
    EXPECT_EQ(sentinels_.node(master).info("replication", "role"), "master");
    if (is_crash) {
      sentinels_.start_again(before);
    }
    sentinels_.wait_until_ok();
  }
}

}  // namespace
}  // namespace cuckooguard::harness
