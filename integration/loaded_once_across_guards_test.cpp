// Four guards in front of one Redis, each with its own clients (`breakdown.scope: redis`): of them
// all one client loads what has expired, and the others have its value.

#include <atomic>
#include <cstdio>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kGuards = 4;
constexpr std::size_t kClients = 200;  // of all guards
constexpr std::size_t kExpiries = 10;
constexpr milliseconds kLoad{50};

class LoadedOnceAcrossGuards : public testing::Test {
 protected:
  explicit LoadedOnceAcrossGuards(const std::string& scope = "redis")
      : shop_({.more_namespace = ", breakdown: { hold: 500ms, scope: " + scope + " }"}) {
    guards_.push_back(&shop_.guard());
    while (guards_.size() < kGuards) {
      guards_.push_back(&others_.emplace_back(GuardProcess::on_port(shop_.yaml())));
    }
    for (GuardProcess* const guard : guards_) {
      EXPECT_TRUE(
          eventually([&] { return shop_.answers_absent(clients_.emplace_back(guard->client())); }));
      clients_.pop_back();
    }
    for (std::size_t i = 0; i < kClients; ++i) {
      clients_.push_back(guards_[i % kGuards]->client());
    }
  }

  // All read the same key, which is not there; who has nil loads it and sets it, as applications
  // do. How many did. `meanwhile`: while one of them loads.
  std::size_t expire(const std::function<void()>& meanwhile = [] {}) {
    shop_.redis().call({"DEL", key_});
    std::atomic<std::size_t> loads = 0;
    std::atomic<std::size_t> wrong = 0;
    std::vector<std::jthread> threads;
    for (RawClient& client : clients_) {
      client.send(command({"GET", key_}));
      threads.emplace_back([&] {
        const std::string reply = client.read_reply();
        if (reply == kNil) {
          if (++loads == 1) {
            meanwhile();
          }
          let_pass(kLoad);
          client.call({"SET", key_, "row"});
        } else if (reply != bulk("row")) {
          ++wrong;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0U);
    return loads;
  }
  // One of the guards' own, which alone speak RESP3.
  std::string connection_of_a_guard() const {
    const std::string all = shop_.redis().call({"CLIENT", "LIST", "TYPE", "normal"});
    const std::size_t line = all.rfind("id=", all.find(" resp=3"));
    return all.substr(line + 3, all.find(' ', line) - line - 3);
  }
  // Of all expiries.
  std::size_t expire_again_and_again() {
    std::size_t loads = 0;
    for (std::size_t i = 0; i < kExpiries; ++i) {
      loads += expire();
    }
    return loads;
  }

  const std::string key_ = user(7);
  Shop shop_;
  std::deque<GuardProcess> others_;
  std::vector<GuardProcess*> guards_;
  std::deque<RawClient> clients_;
};

TEST_F(LoadedOnceAcrossGuards, one_client_loads_what_has_expired) {
  // Tried again: where an expiry took a second instead of 70 ms, on a machine busy with others, 14
  // clients loaded in ten. With `scope: guard` it is 40.
  constexpr int kTries = 3;
  std::size_t loads = 0;
  for (int i = 0; i < kTries && (loads == 0 || loads > kExpiries * 12 / 10); ++i) {
    loads = expire_again_and_again();
    std::printf("breakdown: scope=redis guards=%zu clients=%zu expiries=%zu loads=%zu\n",
                kGuards,
                kClients,
                kExpiries,
                loads);
  }
  EXPECT_LE(loads, kExpiries * 12 / 10);
  EXPECT_EQ(shop_.redis().call({"KEYS", "cuckooguard:*"}), "*0\r\n");
}

TEST_F(LoadedOnceAcrossGuards, when_a_guards_connection_is_cut_one_more_client_loads_at_worst) {
  expire();
  for (std::size_t i = 0; i < kExpiries; ++i) {
    std::string cut;
    const std::size_t loads = expire(
        [&] { cut = shop_.redis().call({"CLIENT", "KILL", "ID", connection_of_a_guard()}); });
    EXPECT_EQ(cut, ":1\r\n");
    EXPECT_LE(loads, 2U);
  }
}

class LoadedOncePerGuard : public LoadedOnceAcrossGuards {
 protected:
  LoadedOncePerGuard() : LoadedOnceAcrossGuards("guard") {}
};

TEST_F(LoadedOncePerGuard, is_what_else_happens) {
  EXPECT_GE(expire_again_and_again(), kGuards * kExpiries * 8 / 10);
}

}  // namespace
}  // namespace cuckooguard::harness
