// From a wanted false positive rate and number of keys to a layout and a bucket count.
//
// Threads:   pure functions.
// Limits:    false positive rates from kFalsePositiveRateMin to 1 (others are taken as the
//            nearest); buckets are even and below 2^32 (32 GiB of words); more items than fit are
//            sized as the largest table, which will fill up and then answer "may exist" to
//            everything.
#pragma once

#include <cstdint>

#include "filter/layout.h"

namespace cuckooguard::filter {

// What a delete does. A cuckoo filter alone cannot make deletes idempotent: see cuckoo_filter.h.
enum class DeleteMode : std::uint8_t { trusted, deferred, exact };

struct Sizing {
  Layout layout = Layout::w12;
  std::uint64_t buckets = 2;  // even, 2 <= buckets < 2^32
  DeleteMode deletes = DeleteMode::deferred;
  double load = 0.95;  // fingerprints / slots it is sized for

  [[nodiscard]] std::uint64_t slots() const { return buckets * shape_of(layout).slots; }
  [[nodiscard]] std::uint64_t bytes() const { return buckets * 8; }
  // Items at which the predicted false positive rate is the wanted one.
  [[nodiscard]] std::uint64_t capacity() const;
};

inline constexpr double kFalsePositiveRateMin = 1e-6;
inline constexpr std::uint64_t kBucketsMax = (1ULL << 32) - 2;

// The layout that needs the least memory for `capacity` items at this rate, and its bucket count.
// With live deletes (trusted, exact) the rate is met after any amount of churn, else as filled.
Sizing choose_sizing(double false_positive_rate, std::uint64_t capacity, DeleteMode deletes);

// A given layout with room for `capacity` items at `load` (0 = the layout's sizing load).
Sizing sizing_for(Layout layout, std::uint64_t capacity, DeleteMode deletes, double load = 0);

// `capacity: auto`: the rows the source has now and 12 % more, at least 1024, so that a filter
// starts at a load of 0.85 and asks for a rebuild after about 9 % growth.
std::uint64_t automatic_capacity(std::uint64_t source_rows);

// Share of absent keys that look present, in a filter filled to `load` by inserts. Tests hold it to
// within 10 % of what is measured.
double predicted_false_positive_rate(Layout layout, double load);

// The same in the long run. Moves and refused first buckets set overflow bits and only a rebuild
// clears them: once every key has been replaced, 0.5 to 0.6 of them are set, later all. Then every
// absent look-up compares two buckets.
double lasting_false_positive_rate(Layout layout, double load);

// Share of overflow bits set, in a filter filled to `load` by inserts: so many of the absent
// look-ups read the second bucket.
double predicted_overflow_share(Layout layout, double load);

double bits_per_key(Layout layout, double load);

}  // namespace cuckooguard::filter
