// How many keys of a namespace are to expire in each second, as far as writes have said so: when
// very many do in one, their loads reach the database together.
//
// A cell for each second, and kCells of them, so that second s and s + kCells share one. While they
// do, the one with more keys stays: each key of the other one takes one off its count, until the
// cell changes hands (the majority vote of Boyer and Moore). So seconds of the next hour are exact
// among themselves; of later ones those are seen that stand out, however late they are.
//
// What is counted was announced: keys that are overwritten or deleted before, or given another
// time, count with the old one, too.
//
// Threads: any. Limits: 32 KiB, which are not touched before the first key. A time before now is
// none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "filter/page_memory.h"

namespace cuckooguard::traffic {

class Expiries {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kCells = 4096;

  struct Peak {
    std::uint32_t keys;
    std::chrono::seconds from_now;
  };

  Expiries() : cells_(kCells) {}

  void add(TimePoint at, TimePoint now) noexcept;
  // The second to come with the most keys; nothing: none expires.
  std::optional<Peak> peak(TimePoint now) const noexcept;

 private:
  filter::PageMemory cells_;  // the second in the upper half, its count in the lower
};

}  // namespace cuckooguard::traffic
