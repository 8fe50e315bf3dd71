// What is on trial since a table was changed, and when it is promoted: some followers try it, and
// have compared enough keys for long enough, and have found no row that it hides.
//
// Threads: the builder's. Lifetimes: none. Errors: none. Limits: as many tables as there are.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "builder/asks.h"
#include "fleet/publisher.h"

namespace cuckooguard::fleet {

class Trials {
 public:
  static constexpr std::uint64_t kComparedMin = 100;  // keys

  // `canary`: so long each trial lasts at least; 0: all are promoted.
  explicit Trials(std::chrono::nanoseconds canary) : canary_(canary) {}

  // Says in the log who tries, and promotes. True: rows are hidden, which was not so before.
  bool judge(Publisher& publisher, const Asks& asks, TimePoint now);

 private:
  struct Trial {
    TimePoint began_at{};
    std::uint64_t compared_before = 0;
  };

  std::chrono::nanoseconds canary_;
  std::map<TableId, Trial> all_;
  bool is_hiding_ = false;
};

}  // namespace cuckooguard::fleet
