// What a namespace's filters hold, all of its tables taken as one: a look-up asks each of them.
//
// Threads: any that is between Epochs::Reader enter() and leave().
#pragma once

#include <cstdint>
#include <string_view>

#include "filter/live_parts.h"

namespace cuckooguard::guard {

struct FilterTotals {
  std::uint64_t tables = 0;
  std::uint64_t items = 0;
  std::uint64_t capacity = 0;  // items there is room for
  std::uint64_t fingerprints = 0;
  std::uint64_t slots = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stale = 0;
  std::uint64_t isolated = 0;      // of the items: filter/isolated_rows.h
  double false_positive_rate = 0;  // to be expected, as the filters are filled now
  // Of another library (foreign/filter.h): its format, and positions of an item; empty: our own.
  // Slots are then bits, fingerprints those that are set, and of a Bloom filter that does not count
  // its items, they are estimated.
  std::string_view format{};
  std::uint32_t hashes = 0;
  bool full = false;
  bool rebuild_needed = false;

  double load() const {
    return slots == 0 ? 0 : static_cast<double>(fingerprints) / static_cast<double>(slots);
  }
};

FilterTotals filter_totals(const filter::LiveParts& live);

}  // namespace cuckooguard::guard
