// One layout at one number of keys: every operation timed.
#pragma once

#include <cstdint>

#include "filter/cuckoo_filter.h"

namespace cuckooguard::bench {

struct LookupTimes {  // ns per key; best of three passes
  double single = 0;
  double batch16 = 0;
  double batch64 = 0;
  double batch16_scalar = 0;
  double batch64_scalar = 0;
};

struct LayoutTimes {
  filter::Layout layout{};
  std::uint64_t keys = 0;
  double load = 0;
  double bits_per_key = 0;
  double insert_ns = 0;      // one by one, from empty to `load`
  double build_seconds = 0;  // the same keys given as a span
  double erase_ns = 0;
  double file_write_seconds = 0;  // to disk, synced
  // Read back while the kernel still has it, verified, ready for look-ups.
  double file_read_seconds = 0;
  LookupTimes negative;
  LookupTimes positive;
  double false_positive_rate = 0;
  double predicted_rate = 0;
  std::uint64_t false_negatives = 0;
};

LayoutTimes measure_layout(filter::Layout layout, std::uint64_t keys);

}  // namespace cuckooguard::bench
