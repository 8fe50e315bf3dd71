// How long to wait before the next attempt, after one that failed: twice as long each time, up
// to a limit.
//
// Threads: the source's. Limits: `most`.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace cuckooguard::source {

class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;

  Backoff(Duration least, Duration most) : least_(least), most_(most) {}

  // Somewhere in the upper half, so that many guards of one database do not come back together.
  Duration next() {
    const Duration longest = std::min(least_ * (1 << std::min(failures_, kDoublingsMax)), most_);
    ++failures_;
    return longest / 2 + Duration(std::uniform_int_distribution<Duration::rep>(
                             0, (longest / 2).count())(jitter_));
  }
  void succeeded() { failures_ = 0; }

 private:
  static constexpr int kDoublingsMax = 20;

  Duration least_;
  Duration most_;
  int failures_ = 0;  // in a row
  std::minstd_rand jitter_{std::random_device{}()};
};

}  // namespace cuckooguard::source
