#include "guard/filter_totals.h"

#include <string_view>

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

}  // namespace

FilterTotals filter_totals(const filter::LiveParts& live) {
  FilterTotals all;
  double absent = 1;  // the chance that a key in none is found in none
  live.for_each([&](std::string_view, const filter::LiveFilter& part) {
    ++all.tables;
    const filter::CuckooFilter* const filter = part.current();
    if (filter == nullptr) {
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
