#include "guard/filter_totals.h"

#include <cmath>

#include "filter/sizing.h"

namespace cuckooguard::guard {
namespace {

double false_positive_rate(const filter::Sizing& sizing, const filter::FilterStats& stats) {
  if (stats.full) {
    return 1;
  }
  return sizing.deletes == filter::DeleteMode::deferred
             ? filter::predicted_false_positive_rate(sizing.layout, stats.load)
             : filter::lasting_false_positive_rate(sizing.layout, stats.load);
}

// n of m bits, k for each item, are set by about -m / k * ln(1 - n / m) items.
std::uint64_t items_of(const foreign::Facts& facts) {
  if (facts.items || facts.hashes == 0 || facts.fill >= 1) {
    return facts.items.value_or(0);
  }
  return static_cast<std::uint64_t>(std::round(-static_cast<double>(facts.bits_or_slots) /
                                               facts.hashes * std::log1p(-facts.fill)));
}

void add(FilterTotals& all, const foreign::Facts& facts) {
  all.items += items_of(facts);
  all.slots += facts.bits_or_slots;
  all.fingerprints +=
      static_cast<std::uint64_t>(std::round(facts.fill * static_cast<double>(facts.bits_or_slots)));
  all.bytes += facts.bytes;
  all.format = facts.format;
  all.hashes = facts.hashes;
}

}  // namespace

FilterTotals filter_totals(const filter::LiveParts& live) {
  FilterTotals all;
  double absent = 1;  // the chance that a key in none is found in none
  live.for_each([&](std::string_view, const filter::LiveFilter& part) {
    ++all.tables;
    const filter::CuckooFilter* const filter = part.current();
    if (filter == nullptr) {
      if (const foreign::Filter* const foreign = part.foreign()) {
        const foreign::Facts facts = foreign->facts();
        add(all, facts);
        absent *= 1 - facts.false_positive_rate;
      }
      return;
    }
    const filter::FilterStats stats = filter->stats();
    all.items += stats.items;
    all.fingerprints += stats.fingerprints;
    all.slots += stats.slots;
    all.bytes += stats.bytes;
    all.stale += stats.stale;
    if (const filter::IsolatedRows* const isolated = part.isolated()) {
      all.isolated += isolated->count_in(*filter);
    }
    all.full = all.full || stats.full;
    all.rebuild_needed = all.rebuild_needed || stats.rebuild_needed;
    all.capacity += filter->sizing().capacity();
    absent *= 1 - false_positive_rate(filter->sizing(), stats);
  });
  all.false_positive_rate = 1 - absent;
  return all;
}

}  // namespace cuckooguard::guard
