// From a wanted false positive rate and number of keys to a layout and a bucket count.
//
// Threads:   pure functions.
// Limits:    false positive rates from kFalsePositiveRateMin to 1 (others are taken as the
//            nearest); buckets are even and below 2^32 (32 GiB of words); more items than fit are
//            sized as the largest table, which will fill up and then answer "may exist" to
//            everything.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cuckooguard::filter {

// The bucket layouts: how many fingerprints of how many bits share one 64-bit word.
//
//   name  slots x bits + overflow bits     size for load   bits per key   false positives there
//   w8      7   x   8  +   8               0.95             9.6           about 3.4 %
//   w10     6   x  10  +   4               0.95            11.2           about 0.8 %
//   w12     5   x  12  +   4  (default)    0.95            13.5           about 0.17 %
//   w15     4   x  15  +   4               0.95            16.8           about 0.017 %
//   w16     4   x  16                      0.95            16.8           about 0.011 %
//   w20     3   x  20  +   4               0.88            24.2           about 0.0005 %
//
// Overflow bits answer "has a fingerprint of this class ever left, or been turned away from, this
// bucket?". While the answer is no, a look-up that finds nothing in the first bucket is done: one
// cache line instead of two. They are after the overflow tracking array of Breslow & Jayasena,
// "Morton filters", VLDB 2018; here they live in the bucket's own word. w16 spends them on longer
// fingerprints and always reads two buckets.
enum class Layout : std::uint8_t { w8, w10, w12, w15, w16, w20 };

inline constexpr std::array kLayouts{
    Layout::w8, Layout::w10, Layout::w12, Layout::w15, Layout::w16, Layout::w20};

struct LayoutShape {
  std::string_view name;
  unsigned slots;          // fingerprints per bucket
  unsigned bits;           // per fingerprint
  unsigned overflow_bits;  // 0 = always look into both buckets
  double sizing_load;      // capacity = this x slots x buckets; the first failed insert comes later
  double rebuild_load;     // from here on the writer should build a larger filter
};

constexpr LayoutShape shape_of(Layout layout) {
  switch (layout) {
    case Layout::w8:
      return {"W8", 7, 8, 8, 0.95, 0.93};
    case Layout::w10:
      return {"W10", 6, 10, 4, 0.95, 0.93};
    case Layout::w15:
      return {"W15", 4, 15, 4, 0.95, 0.93};
    case Layout::w16:
      return {"W16", 4, 16, 0, 0.95, 0.93};
    case Layout::w20:
      return {"W20", 3, 20, 4, 0.88, 0.87};
    case Layout::w12:
      break;
  }
  return {"W12", 5, 12, 4, 0.95, 0.93};
}

// What a delete does. A cuckoo filter alone cannot make deletes idempotent: see cuckoo_filter.h.
enum class DeleteMode : std::uint8_t { trusted, deferred, exact };

// The outcome of an insert or an erase; the delete modes: cuckoo_filter.h.
// From best to worst.
enum class InsertOutcome : std::uint8_t {
  inserted,       // in the table
  already_there,  // nothing needed to be stored (deferred, exact, or a saturated pair)
  stashed,        // no room in its buckets: found all the same, but rebuild soon
  full            // not stored: from now on every look-up answers "may exist" until a rebuild
};

enum class EraseOutcome : std::uint8_t {
  erased,    // one row less; the fingerprint is gone unless other rows still need it
  kept,      // stays until the next rebuild (deferred, saturated, full)
  not_found  // trusted, exact: there was no such key. The source and the filter disagree
};

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
