// Workers count while somebody asks.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "traffic/sketches.h"

namespace cuckooguard::traffic {
namespace {

TEST(SketchesOfManyThreads, are_asked_while_workers_count) {
  constexpr int kReads = 20'000;
  const Sketches::TimePoint now{std::chrono::hours(100)};
  Sketches sketches(2, filter::HashSecret{});
  std::atomic<int> working = 2;
  std::vector<std::jthread> workers;
  for (std::size_t worker = 0; worker < 2; ++worker) {
    workers.emplace_back([&, worker] {
      for (int i = 0; i < kReads; ++i) {
        const std::string key = "user:" + std::to_string(i % 100);
        sketches.saw({.key = key, .number = i, .is_absent = true, .from = {}}, worker, now);
        sketches.expires(now + std::chrono::seconds(5), now);
      }
      --working;
    });
  }
  while (working > 0) {
    EXPECT_LE(sketches.keys(Sketches::Kind::absent, now).share(), 1);
    sketches.pattern(5, now);
  }
  workers.clear();
  EXPECT_EQ(sketches.expiring(now)->keys, 2U * kReads * Sketches::kEveryExpiry);
  EXPECT_EQ(sketches.expiring_total(), 2U * kReads * Sketches::kEveryExpiry);
}

}  // namespace
}  // namespace cuckooguard::traffic
