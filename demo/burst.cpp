#include "burst.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <vector>

#include "harness/interrupt.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;
using Clock = Interrupt::Clock;

struct NewRow {
  std::uint64_t id;
  Clock::time_point committed;  // not before it was
};

class Burst {
 public:
  Burst(CacheAside& application, const Count& count) : application_(application), count_(count) {}

  void read(const NewRow& row) {
    const auto age = Clock::now() - row.committed;  // at the least, when it is judged
    const Answer answer = application_.look_up(row.id);
    count_(true, answer);
    if (is_absent(answer)) {
      ++(age > kMaxLag ? result_.hidden_existing : result_.hidden_in_window);
    }
  }

  Answer probe() {
    const Answer answer = application_.look_up(kProbeId);
    count_(false, answer);
    result_.probes_passed += answer == Answer::not_in_database ? 1 : 0;
    return answer;
  }

  const BurstResult& result() const { return result_; }

 private:
  CacheAside& application_;
  const Count& count_;
  BurstResult result_;
};

}  // namespace

BurstResult run_burst(UserWriter& writer,
                      CacheAside& application,
                      bool guarded,
                      const Count& count) {
  Burst burst(application, count);
  std::vector<NewRow> rows;
  const auto begin = Clock::now();
  for (int i = 0; i < kBurstRows; ++i) {
    Interrupt::require_until(begin + i * kBurstPace);
    const std::uint64_t id = writer.insert_next();
    rows.push_back({.id = id, .committed = Clock::now()});
    burst.read(rows.back());
  }
  const auto inserted = Clock::now();
  Answer answer = Answer::not_in_database;
  const auto is_enough = [&](int probes) {
    return probes >= kProbes && (!guarded || answer == Answer::declared_absent);
  };
  for (int i = 0; i < kProbesMax && !is_enough(i); ++i) {
    Interrupt::require_until(inserted + i * kProbePace);
    answer = burst.probe();
  }
  for (const NewRow& row : rows) {
    Interrupt::require_until(row.committed + kMaxLag + std::chrono::milliseconds(1));
    burst.read(row);
  }
  return burst.result();
}

bool declares_absent(CacheAside& application, const Count& count) {
  return std::ranges::all_of(std::views::iota(std::uint64_t{0}, kProbedIds), [&](auto i) {
    const Answer answer = application.look_up(kProbeId + i);
    count(false, answer);
    return answer == Answer::declared_absent;
  });
}

}  // namespace cuckooguard::demo
