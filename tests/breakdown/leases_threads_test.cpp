// Clients of several workers at the same keys.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "breakdown/leases.h"

namespace cuckooguard::breakdown {
namespace {

using namespace std::chrono_literals;

const text::Network kHere = text::Network::of_ipv4(std::array<unsigned char, 4>{127, 0, 0, 1});
constexpr int kWorkers = 4;
constexpr int kSteps = 20'000;
constexpr std::size_t kClients = 6;

void work(const std::shared_ptr<Leases>& leases, std::uint64_t seed, std::atomic<int>& waits) {
  std::mt19937_64 random(seed);
  const auto known = std::make_shared<guard::KnownReplies>([] {});
  std::vector<std::unique_ptr<guard::Misses>> clients(kClients);
  std::vector<bool> is_waiting(kClients);
  for (int step = 0; step < kSteps; ++step) {
    const TimePoint now = std::chrono::steady_clock::now();
    const std::size_t at = random() % kClients;
    auto& client = clients[at];
    if (!client) {
      client = leases->connect(kHere, known, &client);
    }
    const std::uint64_t key = random() % 3;
    switch (random() % 4) {
      case 0:
        leases->written(key, client.get(), true, now);
        break;
      case 1:
        if (random() % 20 == 0) {
          client->gone(now);
          client.reset();
          is_waiting[at] = false;
        }
        break;
      default:
        if (!is_waiting[at]) {
          is_waiting[at] = client->missed(*leases, {key, {}}, guard::Misses::May::wait, now);
          waits += is_waiting[at] ? 1 : 0;
        } else if (client->next(now) != guard::Misses::Next::wait) {
          client->end(guard::Misses::End::value, now);
          is_waiting[at] = false;
        }
    }
    known->take();
  }
  for (auto& client : clients) {
    if (client) {
      client->gone(std::chrono::steady_clock::now());
    }
  }
}

TEST(LeasesThreads, workers_meet_at_the_same_keys_and_nothing_is_left) {
  const filter::HashSecret secret = filter::random_secret();
  const auto leases = std::make_shared<Leases>(
      config::Breakdown{.hold = 5ms, .lease = 1ms, .max_concurrent_misses = 2},
      std::make_shared<Addresses>(secret),
      secret);
  std::atomic<int> waits = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < kWorkers; ++i) {
      workers.emplace_back([&, i] { work(leases, static_cast<std::uint64_t>(i), waits); });
    }
  }
  EXPECT_GT(waits, 100);
  EXPECT_EQ(leases->now().loads, 0);
  EXPECT_EQ(leases->now().held, 0);
}

}  // namespace
}  // namespace cuckooguard::breakdown
