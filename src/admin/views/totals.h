// The process's counters as one line of a chart: keys of reads by outcome, times of the forwarded
// ones, and the age of the sources' proofs.
//
// Threads: as Model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "guard/counters.h"
#include "views/model.h"

namespace cuckooguard::views {

struct Totals {
  guard::TimePoint at{};
  std::uint64_t absent = 0;     // answered by the guard
  std::uint64_t passed = 0;     // of a namespace, and forwarded
  std::uint64_t unguarded = 0;  // of none
  std::array<std::uint64_t, guard::ReplyTimes::kCounts> reply_times{};
  std::vector<std::optional<std::chrono::nanoseconds>> lag{};  // by source
};

Totals totals_of(const Model& model);

// {"at", "absent", "passed", "unguarded", "reply_times": [count], "lag": [seconds or null]}; `at`
// is of a clock that only grows.
boost::json::value json_of(const Totals& totals);

// The last minutes, a line per second, so that a newly opened page has a history.
//
// Threads: the admin thread's. Limits: kLinesMax lines, some 300 bytes each.
class History {
 public:
  static constexpr std::size_t kLinesMax = 300;

  void add(Totals totals) {
    if (lines_.size() == kLinesMax) {
      lines_.pop_front();
    }
    lines_.push_back(std::move(totals));
  }

  // The page /history: a list of totals (totals.h), the oldest first.
  std::string json() const;

 private:
  std::deque<Totals> lines_;
};

}  // namespace cuckooguard::views
