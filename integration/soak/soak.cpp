// soak SECONDS [SEED]
//
// Each mode for a long time: clients that are compared with a Redis without the guard, byte for
// byte, between others that keep the shared connections busy, others that leave in the middle, and
// hostile ones. In the end the two Redis servers must hold the same, and the guard what it held
// after a quarter of that time, when everybody had left: descriptors and memory within a tenth.
// Exits with 1 if anything differs. The last line is for machines. What a client sends follows from
// the seed; how the clients meet does not. Limits: a day, in which the guard lets pass what clients
// have written.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/deadline.h"
#include "harness/run_main.h"
#include "harness/seed.h"
#include "soak/checked_client.h"
#include "soak/neighbours.h"
#include "soak/soak_world.h"

namespace cuckooguard::soak {
namespace {

constexpr std::uint32_t kSecondsOfRests =
    20;  // a shorter soak does not look at what the guard holds

// `keys`: of neighbours, whom nobody has used before.
void live_for(SoakWorld& world, std::uint32_t seconds, std::uint32_t seed, std::size_t keys) {
  std::mt19937 seeds(seed);
  world.begin();
  const auto hostile = world.hostile(static_cast<std::uint32_t>(seeds()));
  std::vector<std::jthread> clients;
  for (std::size_t number = 1; number <= kCheckedClients; ++number) {
    clients.emplace_back([&world, number, own = seeds()] {
      CheckedClient(world, number, static_cast<std::uint32_t>(own)).run();
    });
  }
  for (std::size_t number = keys; number < keys + kLoadClients; ++number) {
    clients.emplace_back(
        [&world, number, own = seeds()] { load(world, number, static_cast<std::uint32_t>(own)); });
  }
  for (std::size_t number = 0; number < kLeavers; ++number) {
    clients.emplace_back([&world, keys, number, own = seeds()] {
      leave_again_and_again(world, keys + kLoadClients + number, static_cast<std::uint32_t>(own));
    });
  }
  const harness::Deadline end{std::chrono::seconds(seconds)};
  constexpr int kMinute = 60'000;
  while (!end.has_passed()) {
    ::poll(nullptr, 0, std::min(end.milliseconds_left(), kMinute));
    std::fprintf(stderr,
                 "commands=%llu mismatches=%llu\n",
                 static_cast<unsigned long long>(world.commands()),
                 static_cast<unsigned long long>(world.mismatches()));
  }
  world.end();
}

// Of what was there at first; a few more do not count.
bool is_within_a_tenth(std::size_t now, std::size_t at_first, std::size_t few) {
  constexpr std::size_t kTenth = 10;
  return now <= at_first + std::max(at_first / kTenth, few);
}

// Its mismatches.
std::uint64_t run(const std::string& mode, std::uint32_t seconds, std::uint32_t seed) {
  constexpr std::size_t kFewDescriptors = 3;
  constexpr std::size_t kOthersKeys = 100;
  constexpr std::size_t kFewBytes = std::size_t{6} << 20U;
  std::printf("soak: mode=%s seed=%u\n", mode.c_str(), seed);
  std::fflush(stdout);
  SoakWorld world(mode, seconds);
  const bool rests = seconds >= kSecondsOfRests;
  if (rests) {
    live_for(world, seconds / 4, seed + 1, 0);
  }
  const SoakWorld::Rest at_first = rests ? world.rest() : SoakWorld::Rest{};
  live_for(world, seconds, seed, kOthersKeys);
  const SoakWorld::Rest after = rests ? world.rest() : SoakWorld::Rest{};
  if (!is_within_a_tenth(after.descriptors, at_first.descriptors, kFewDescriptors)) {
    world.mismatch("in the end",
                   "descriptors: " + std::to_string(after.descriptors) + " instead of " +
                       std::to_string(at_first.descriptors));
  }
  if (!is_within_a_tenth(after.bytes, at_first.bytes, kFewBytes)) {
    world.mismatch(
        "in the end",
        "memory: " + std::to_string(after.bytes) + " instead of " + std::to_string(at_first.bytes));
  }
  if (!world.holds_the_same()) {
    world.mismatch("in the end", "the two Redis servers do not hold the same");
  }
  std::printf(
      "soak: mode=%s seed=%u seconds=%u clients=%zu commands=%llu on_leases=%llu answered=%llu "
      "descriptors=%zu of=%zu memory=%zu of=%zu mismatches=%llu\n",
      mode.c_str(),
      seed,
      seconds,
      kCheckedClients + kLoadClients + kLeavers + 3 * kHostileConnections,
      static_cast<unsigned long long>(world.commands()),
      static_cast<unsigned long long>(world.on_leases()),
      static_cast<unsigned long long>(world.answered()),
      after.descriptors,
      at_first.descriptors,
      after.bytes,
      at_first.bytes,
      static_cast<unsigned long long>(world.mismatches()));
  std::fflush(stdout);
  return world.mismatches();
}

}  // namespace
}  // namespace cuckooguard::soak

int main(int count, char** words) {
  using namespace cuckooguard::soak;
  const auto [seconds, seed] =
      cuckooguard::harness::run_arguments({words, static_cast<std::size_t>(count)});
  return cuckooguard::harness::run_main("soak", [&] {
    std::uint64_t mismatches = 0;
    for (const char* const mode : {"pinned", "shared"}) {
      mismatches += run(mode, seconds, seed);
    }
    std::printf("soak: seed=%u seconds=%u mismatches=%llu\n",
                seed,
                seconds,
                static_cast<unsigned long long>(mismatches));
    return mismatches == 0 ? 0 : 1;
  });
}
