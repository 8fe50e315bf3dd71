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
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cuckooguard::filter {

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

}  // namespace cuckooguard::filter
