#include "filter/sizing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace cuckooguard::filter {
namespace {

constexpr std::uint64_t kCapacityMin = 1024;
constexpr double kHeadroom = 1.12;
constexpr double kLoadMin = 0.05;

// Overflow bits set in a table filled by inserts, as a share of all, at these loads. Measured with
// 4 million buckets (tests/bench/filter_bench --overflow); between them interpolated.
constexpr std::array kLoads{0.5, 0.7, 0.8, 0.85, 0.9, 0.95};
using OverflowShares = std::array<double, kLoads.size()>;

constexpr OverflowShares overflow_shares(Layout layout) {
  switch (layout) {
    case Layout::w8:
      return {0.03, 0.08, 0.15, 0.2, 0.3, 0.45};
    case Layout::w10:
      return {0.03, 0.08, 0.15, 0.2, 0.3, 0.45};
    case Layout::w12:
      return {0.03, 0.08, 0.15, 0.28, 0.35, 0.45};
    case Layout::w15:
      return {0.03, 0.08, 0.15, 0.2, 0.3, 0.45};
    case Layout::w20:
      return {0.03, 0.08, 0.15, 0.2, 0.3, 0.45};
    case Layout::w16:
      break;
  }
  return {1, 1, 1, 1, 1, 1};
}

std::uint64_t even_buckets(double buckets) {
  const double rounded = 2 * std::ceil(buckets / 2);
  return static_cast<std::uint64_t>(std::clamp(rounded, 2.0, static_cast<double>(kBucketsMax)));
}

// The highest load up to the layout's sizing load at which the rate is met; 0 if there is none.
double load_for_rate(Layout layout, double rate) {
  double high = shape_of(layout).sizing_load;
  if (predicted_false_positive_rate(layout, high) <= rate) {
    return high;
  }
  double low = kLoadMin;
  if (predicted_false_positive_rate(layout, low) > rate) {
    return 0;
  }
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (predicted_false_positive_rate(layout, middle) <= rate ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::uint64_t Sizing::capacity() const {
  return static_cast<std::uint64_t>(static_cast<double>(slots()) * load);
}

double predicted_overflow_share(Layout layout, double load) {
  const OverflowShares shares = overflow_shares(layout);
  if (load <= kLoads.front()) {
    return shares.front() * std::max(load, 0.0) / kLoads.front();
  }
  for (std::size_t i = 1; i < kLoads.size(); ++i) {
    if (load <= kLoads[i]) {
      const double part = (load - kLoads[i - 1]) / (kLoads[i] - kLoads[i - 1]);
      return shares[i - 1] + part * (shares[i] - shares[i - 1]);
    }
  }
  return shares.back();
}

double false_positive_rate_at(Layout layout, double load, double overflow_share) {
  const LayoutShape shape = shape_of(layout);
  const double fingerprints = std::exp2(shape.bits) - 1;
  const double compared = shape.slots * load * (1 + overflow_share);
  return -std::expm1(compared * std::log1p(-1 / fingerprints));
}

double predicted_false_positive_rate(Layout layout, double load) {
  return false_positive_rate_at(layout, load, predicted_overflow_share(layout, load));
}

double bits_per_key(Layout layout, double load) {
  return 64 / (shape_of(layout).slots * load);
}

Sizing sizing_for(Layout layout, std::uint64_t capacity, DeleteMode deletes, double load) {
  const double target = load > 0 ? load : shape_of(layout).sizing_load;
  const double slots = static_cast<double>(capacity) / target;
  return {.layout = layout,
          .buckets = even_buckets(slots / shape_of(layout).slots),
          .deletes = deletes,
          .load = target};
}

Sizing choose_sizing(double false_positive_rate, std::uint64_t capacity, DeleteMode deletes) {
  const double rate = std::clamp(false_positive_rate, kFalsePositiveRateMin, 1.0);
  Layout best = Layout::w20;
  double best_load = 0;
  for (const Layout layout : kLayouts) {
    const double load = load_for_rate(layout, rate);
    if (load > 0 &&
        (best_load == 0 || bits_per_key(layout, load) < bits_per_key(best, best_load))) {
      best = layout;
      best_load = load;
    }
  }
  return sizing_for(best, capacity, deletes, best_load);
}

std::uint64_t automatic_capacity(std::uint64_t source_rows) {
  const double wanted = std::ceil(static_cast<double>(source_rows) * kHeadroom);
  return std::max(kCapacityMin, static_cast<std::uint64_t>(wanted));
}

}  // namespace cuckooguard::filter
