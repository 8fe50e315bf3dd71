#include "filter/sizing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace cuckooguard::filter {
namespace {

constexpr std::uint64_t kCapacityMin = 1024;
constexpr double kHeadroom = 1.12;
constexpr double kLoadMin = 0.05;

// Overflow bits set in a table filled by inserts, as a share of all, at these loads. Measured with
// 262,144 buckets; the share does not depend on the size. Between them interpolated.
// tests/filter/false_positive_rate_test.cpp holds them to what it measures.
constexpr std::array kLoads{0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95};
using OverflowShares = std::array<double, kLoads.size()>;

constexpr OverflowShares overflow_shares(Layout layout) {
  switch (layout) {
    case Layout::w8:
      return {0.0049, 0.0134, 0.0293, 0.0565, 0.0755, 0.0999, 0.1190, 0.1343};
    case Layout::w10:
      return {0.0118, 0.0284, 0.0576, 0.1036, 0.1352, 0.1762, 0.2076, 0.2333};
    case Layout::w12:
      return {0.0147, 0.0323, 0.0609, 0.1049, 0.1348, 0.1738, 0.2037, 0.2282};
    case Layout::w15:
      return {0.0183, 0.0367, 0.0649, 0.1065, 0.1353, 0.1729, 0.2025, 0.2274};
    case Layout::w20:
      return {0.0225, 0.0409, 0.0682, 0.1081, 0.1360, 0.1738, 0.2054, 0.2300};
    case Layout::w16:
      break;
  }
  return {1, 1, 1, 1, 1, 1, 1, 1};
}

std::uint64_t even_buckets(double buckets) {
  const double rounded = 2 * std::ceil(buckets / 2);
  return static_cast<std::uint64_t>(std::clamp(rounded, 2.0, static_cast<double>(kBucketsMax)));
}

// The highest load up to the layout's sizing load at which the rate is met; 0 if there is none.
double load_for_rate(Layout layout, DeleteMode deletes, double rate) {
  const auto meets = [=](double load) {
    const double expected = deletes == DeleteMode::deferred
                                ? predicted_false_positive_rate(layout, load)
                                : lasting_false_positive_rate(layout, load);
    return expected <= rate;
  };
  double high = shape_of(layout).sizing_load;
  double low = kLoadMin;
  if (meets(high)) {
    return high;
  }
  if (!meets(low)) {
    return 0;
  }
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (meets(middle) ? low : high) = middle;
  }
  return low;
}

double rate_of_comparisons(Layout layout, double comparisons) {
  const double fingerprints = std::exp2(shape_of(layout).bits) - 1;
  return -std::expm1(comparisons * std::log1p(-1 / fingerprints));
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

// Compared by chance: the fingerprints of the first bucket and, behind a set overflow bit, of the
// second. Beyond chance: a bit is set because fingerprints of its class stand in their second
// bucket, and an absent key of that class may have just their fingerprint; by Poisson, -ln(1 -
// share) stand behind each of the bits.
double predicted_false_positive_rate(Layout layout, double load) {
  const LayoutShape shape = shape_of(layout);
  const double share = predicted_overflow_share(layout, load);
  const double by_chance = shape.slots * load * (1 + share);
  const double turned_away = shape.overflow_bits == 0 ? 0 : -std::log1p(-share);
  return rate_of_comparisons(layout, by_chance + shape.overflow_bits * turned_away);
}

double lasting_false_positive_rate(Layout layout, double load) {
  return rate_of_comparisons(layout, 2 * shape_of(layout).slots * load);
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
    const double load = load_for_rate(layout, deletes, rate);
    if (load > 0 &&
        (best_load == 0 || bits_per_key(layout, load) < bits_per_key(best, best_load))) {
      best = layout;
      best_load = load;
    }
  }
  // No layout at any sensible load: W20 at the lowest comes nearest.
  return sizing_for(best, capacity, deletes, best_load > 0 ? best_load : kLoadMin);
}

std::uint64_t automatic_capacity(std::uint64_t source_rows) {
  const double wanted = std::ceil(static_cast<double>(source_rows) * kHeadroom);
  return std::max(kCapacityMin, static_cast<std::uint64_t>(wanted));
}

}  // namespace cuckooguard::filter
