// breakdown_bench [--rounds N] [--hold MS]
//
// What the database of unmodified cache-aside applications is asked when a hot key expires N times,
// and when Redis is empty: straight, and through a guard with breakdown, in both modes. Times are
// those of look-ups, as the application sees them. The last line is for machines.
//
// Exits with 1 if a value was wrong, or clients with connections of their own load more than 1.1
// times per expiry.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "breakdown/cached_application.h"
#include "harness/run_main.h"
#include "statistics.h"

namespace cuckooguard::bench {
namespace {

using harness::Application;
using harness::CachedApplication;
using harness::Guarding;
using harness::Herd;
using harness::Loading;
using harness::milliseconds;

struct Settings {
  std::size_t rounds = 10;
  int hold_ms = 100;
};

struct Verdict {
  std::size_t wrong = 0;
  double most_loads = 0;  // per expiry, of clients with connections of their own
};

std::vector<Guarding> ways(int hold_ms, const std::string& more = "") {
  const std::string breakdown = "{ hold: " + std::to_string(hold_ms) + "ms" + more + " }";
  return {{}, {.breakdown = breakdown}, {.breakdown = breakdown, .mode = "shared"}};
}

void say_header() {
  std::printf("%-22s %7s %-7s %6s %8s %8s %8s %8s %6s\n",
              "application",
              "clients",
              "guard",
              "loads",
              "at once",
              "p50 ms",
              "p99 ms",
              "all ms",
              "wrong");
}

void say(const std::string& name,
         std::size_t clients,
         const Guarding& way,
         std::size_t rounds,
         const Herd::Round& round) {
  std::printf("%-22s %7zu %-7s %6.1f %8zu %8.1f %8.1f %8.1f %6zu\n",
              name.c_str(),
              clients,
              way.breakdown.empty() ? "none" : way.mode.c_str(),
              static_cast<double>(round.loads) / static_cast<double>(rounds),
              round.most_at_once,
              percentile(round.took_ms, 0.5),
              percentile(round.took_ms, 0.99),
              round.total_ms,
              round.wrong);
  std::fflush(stdout);
}

void bench_expiries(const Application& application,
                    bool has_own_connections,
                    const Settings& settings,
                    Verdict& verdict) {
  if (const auto missing = harness::missing_for(application)) {
    std::printf("%-22s left out: %s\n", application.name.c_str(), missing->c_str());
    return;
  }
  for (const Guarding& way : ways(settings.hold_ms)) {
    CachedApplication running(application, way);
    const Herd::Round all = running.expire_again_and_again(settings.rounds);
    say(application.name, application.clients, way, settings.rounds, all);
    verdict.wrong += all.wrong;
    if (has_own_connections && !way.breakdown.empty()) {
      verdict.most_loads =
          std::max(verdict.most_loads,
                   static_cast<double>(all.loads) / static_cast<double>(settings.rounds));
    }
  }
}

// Killed when it has loaded the row, so that the others wait for two loads.
void bench_killed_loaders(Verdict& verdict) {
  constexpr int kHoldMs = 500;
  for (const Guarding& way : ways(kHoldMs)) {
    CachedApplication running(harness::phpredis(200), way);
    running.herd().kill_next_loader();
    const Herd::Round round = running.expire();
    say("phpredis, killed", 200, way, 1, round);
    verdict.wrong += round.wrong;
  }
}

// Before and after the guard has found out: leases that end without a SET are judged a second late.
void bench_a_key_that_is_never_set(const Settings& settings, Verdict& verdict) {
  constexpr std::size_t kClients = 50;
  for (const Guarding& way : ways(settings.hold_ms)) {
    CachedApplication running(harness::never_sets(kClients), way);
    Herd::Round round = running.expire();
    say("never set, at first", kClients, way, 1, round);
    const auto is_off = [&] {
      const std::uint64_t before = running.info("misses_ever_held");
      round = running.expire();
      return running.info("misses_ever_held") == before;
    };
    if (!way.breakdown.empty() && !harness::eventually(is_off)) {
      throw std::runtime_error("clients are still held for a key that is never set");
    }
    round = running.expire_again_and_again(settings.rounds);
    say("never set, then", kClients, way, settings.rounds, round);
    verdict.wrong += round.wrong;
  }
}

void bench_an_empty_redis(milliseconds load_time, Verdict& verdict) {
  constexpr std::size_t kClients = 500;
  constexpr std::size_t kAtOnce = 50;
  constexpr int kHoldMs = 500;
  const Loading loading{.time = load_time, .at_a_time = kAtOnce};
  for (const Guarding& way : ways(kHoldMs, ", max_concurrent_misses: " + std::to_string(kAtOnce))) {
    CachedApplication running(harness::hiredis(kClients), way, loading);
    const Herd::Round round = running.restart_redis(harness::kHerdRows);
    say("empty, loads of " + std::to_string(load_time.count()) + " ms", kClients, way, 1, round);
    verdict.wrong += round.wrong;
  }
}

int run(const Settings& settings) {
  Verdict verdict;
  say_header();
  for (const Application& own : {harness::hiredis(200),
                                 harness::phpredis(200),
                                 harness::laravel(200),
                                 harness::rails(100, 1)}) {
    bench_expiries(own, true, settings, verdict);
  }
  for (const Application& common : {harness::python_redis(200, 200),
                                    harness::django(200),
                                    harness::ioredis(200),
                                    harness::node_redis(200)}) {
    bench_expiries(common, false, settings, verdict);
  }
  Application few = harness::python_redis(50, 10);
  few.name += ", pool 10";
  bench_expiries(few, false, settings, verdict);
  Application threads = harness::rails(10, 5);
  threads.name += ", 5 threads";
  bench_expiries(threads, false, settings, verdict);
  bench_killed_loaders(verdict);
  bench_a_key_that_is_never_set(settings, verdict);
  for (const int load_ms : {20, 50, 100}) {
    bench_an_empty_redis(milliseconds(load_ms), verdict);
  }
  std::printf("bench-breakdown: rounds=%zu hold_ms=%d most_loads_per_expiry=%.2f wrong=%zu\n",
              settings.rounds,
              settings.hold_ms,
              verdict.most_loads,
              verdict.wrong);
  return verdict.wrong == 0 && verdict.most_loads <= 1.1 ? 0 : 1;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  return cuckooguard::harness::run_main("breakdown_bench", [&] {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    cuckooguard::bench::Settings settings;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--rounds" && i + 1 < arguments.size()) {
        settings.rounds = static_cast<std::size_t>(std::atoi(arguments[++i].data()));
      } else if (arguments[i] == "--hold" && i + 1 < arguments.size()) {
        settings.hold_ms = std::atoi(arguments[++i].data());
      } else {
        settings.rounds = 0;
      }
    }
    if (settings.rounds == 0 || settings.hold_ms <= 0) {
      std::fputs("usage: breakdown_bench [--rounds N] [--hold MS]\n", stderr);
      return 64;
    }
    return cuckooguard::bench::run(settings);
  });
}
