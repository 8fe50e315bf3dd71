// The filter that a load begins with.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "config/config.h"
#include "filter/sizing.h"

namespace cuckooguard::source {

// For one of `parts` tables, of which a look-up asks all: each may take its share of the
// namespace's false positives, and gets its share of a configured capacity. `capacity_min`: what is
// known to be needed.
inline filter::Sizing load_sizing(const config::Filter& wanted,
                                  std::size_t parts,
                                  std::uint64_t rows,
                                  filter::DeleteMode deletes,
                                  std::uint64_t capacity_min = 0) {
  const std::uint64_t share = (wanted.capacity.value_or(0) + parts - 1) / parts;
  const double rate = wanted.false_positive_rate / static_cast<double>(parts);
  return filter::choose_sizing(
      rate, std::max({share, filter::automatic_capacity(rows), capacity_min}), deletes);
}

}  // namespace cuckooguard::source
