// The last minutes, a line per second, so that a page that is opened has a past.
//
// Threads: the admin thread's. Limits: kLinesMax lines, some 300 bytes each.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "views/totals.h"

namespace cuckooguard::views {

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
