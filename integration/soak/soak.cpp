// soak SECONDS [SEED]
//
// `mode: shared` for a long time: clients that are compared with a Redis without the guard, byte for byte, between others
// that keep the shared connections busy and others that leave in the middle. In the end the two Redis servers must hold
// the same. Exits with 1 if anything differs. The last line is for machines. What a client sends follows from the seed; how
// the clients meet does not. Limits: a day, in which the guard lets pass what clients have written.

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/deadline.h"
#include "soak/checked_client.h"
#include "soak/neighbours.h"
#include "soak/soak_world.h"

namespace cuckooguard::soak {
namespace {

constexpr std::uint32_t kSecondsAtFirst = 60;

void live_for(SoakWorld& world, std::uint32_t seconds, std::uint32_t seed) {
  std::mt19937 seeds(seed);
  std::vector<std::jthread> clients;
  for (std::size_t number = 1; number <= kCheckedClients; ++number) {
    clients.emplace_back([&world, number, own = seeds()] {
      CheckedClient(world, number, static_cast<std::uint32_t>(own)).run();
    });
  }
  for (std::size_t number = 0; number < kLoadClients; ++number) {
    clients.emplace_back(
        [&world, number, own = seeds()] { load(world, number, static_cast<std::uint32_t>(own)); });
  }
  for (std::size_t number = 0; number < kLeavers; ++number) {
    clients.emplace_back([&world, number, own = seeds()] {
      leave_again_and_again(world, kLoadClients + number, static_cast<std::uint32_t>(own));
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

int run(std::uint32_t seconds, std::uint32_t seed) {
  std::printf("soak: seed=%u\n", seed);
  std::fflush(stdout);
  SoakWorld world;
  live_for(world, seconds, seed);
  if (!world.holds_the_same()) {
    world.mismatch("in the end", "the two Redis servers do not hold the same");
  }
  std::printf(
      "soak: seed=%u seconds=%u clients=%zu commands=%llu on_leases=%llu answered=%llu "
      "mismatches=%llu\n",
      seed,
      seconds,
      kCheckedClients + kLoadClients + kLeavers,
      static_cast<unsigned long long>(world.commands()),
      static_cast<unsigned long long>(world.on_leases()),
      static_cast<unsigned long long>(world.answered()),
      static_cast<unsigned long long>(world.mismatches()));
  return world.mismatches() == 0 ? 0 : 1;
}

std::uint32_t number(std::string_view text, std::uint32_t otherwise) {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace
}  // namespace cuckooguard::soak

int main(int count, char** words) {
  using namespace cuckooguard::soak;
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  const std::uint32_t seconds =
      arguments.size() > 1 ? number(arguments[1], kSecondsAtFirst) : kSecondsAtFirst;
  const std::uint32_t seed =
      arguments.size() > 2 ? number(arguments[2], 0) : std::random_device{}();
  try {
    return run(seconds, seed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return 1;
  }
}
