#include "live_load.h"

#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include "cache.h"
#include "cache_aside.h"
#include "harness/interrupt.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;
using Clock = Interrupt::Clock;

constexpr std::chrono::milliseconds kPace{20};
constexpr std::chrono::seconds kWave{40};
constexpr std::chrono::seconds kInsertEvery{15};
constexpr std::uint64_t kHotUsers = 10'000;
constexpr std::uint64_t kAbsentFirst = 10'000'000;
constexpr std::uint64_t kAbsentLast = 1'000'000'000;
constexpr int kOwnLookups = 12;    // per pace, by the application
constexpr int kAttackMax = 70;     // per pace, at a wave's crest
constexpr int kUnguardedKeys = 4;  // per pace

int attack_at(Clock::duration since_begin) {
  const double waves = std::chrono::duration<double>(since_begin) / kWave;
  return static_cast<int>(kAttackMax * (1 - std::cos(2 * std::numbers::pi * waves)) / 2);
}

}  // namespace

void run_live_load(const UsersDatabase& database,
                   const Endpoint& guard,
                   std::uint64_t users,
                   const std::stop_token& stop) {
  CacheAside application(guard, database);
  const auto sessions = open_cache(guard);
  const auto writer = database.writer();
  std::mt19937_64 random{std::random_device{}()};
  std::uniform_int_distribution<std::uint64_t> existing(1, kHotUsers);
  std::uniform_int_distribution<std::uint64_t> absent(kAbsentFirst, kAbsentLast);
  const auto begin = Clock::now();
  auto insert_at = begin + kInsertEvery;
  for (auto next = begin; !stop.stop_requested() && Interrupt::wait_until(next);
       next = Clock::now() + kPace) {
    for (int i = 0; i < kOwnLookups; ++i) {
      application.look_up(existing(random) * (users / kHotUsers));
    }
    for (int i = attack_at(next - begin); i > 0; --i) {
      application.look_up(absent(random));
    }
    for (int i = 0; i < kUnguardedKeys; ++i) {
      sessions->get("session:" + std::to_string(existing(random)));
    }
    if (next >= insert_at) {
      insert_at = next + kInsertEvery;
      writer->insert_next();
    }
  }
}

}  // namespace cuckooguard::demo
