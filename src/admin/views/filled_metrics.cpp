#include "views/filled_metrics.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "guard/filled.h"

namespace cuckooguard::views {
namespace {

using Type = prometheus::MetricType;

void put_log(MetricFamilies& families, const filled::LogStatus& log, guard::TimePoint now) {
  families.put({"cuckooguard_application_filter_log_waiting_changes",
                "Changes that have not come back from the filters' log in Redis.",
                Type::Gauge},
               static_cast<std::uint64_t>(log.waiting));
  families.put({"cuckooguard_application_filter_log_skipped_entries_total",
                "Entries of the filters' log that do not count: nobody with the secret has "
                "written them, or they are copies.",
                Type::Counter},
               log.skipped);
  families.put({"cuckooguard_application_filter_log_rereads_total",
                "How often the filters' log was read again as a whole.",
                Type::Counter},
               log.rereads);
  families.put({"cuckooguard_application_filter_log_unsaved_entries",
                "Entries of the filters' log behind its last snapshot.",
                Type::Gauge},
               log.seq - std::min(log.seq, log.snapshot_seq));
  if (log.snapshot_at) {
    families.put({"cuckooguard_application_filter_snapshot_age_seconds",
                  "Time since a new snapshot of the filters was seen in Redis; left out before "
                  "the first one of this process.",
                  Type::Gauge},
                 std::max(0.0, seconds_of(now - *log.snapshot_at)));
  }
}

void put_named(MetricFamilies& families, const guard::Filled& filled) {
  const std::size_t named = filled.parts().settings.named.size();
  for (const guard::Filled::Shown& filter : filled.shown(named)) {
    families.put({"cuckooguard_application_filter_named_items",
                  "Items in the filter, by its name in filters.named.",
                  Type::Gauge},
                 filter.facts.items,
                 {{"filter", filter.name}});
    families.put({"cuckooguard_application_filter_named_memory_bytes",
                  "Memory of the filter, by its name in filters.named.",
                  Type::Gauge},
                 filter.facts.bytes,
                 {{"filter", filter.name}});
  }
}

}  // namespace

void put_filled(MetricFamilies& families, const Model& model) {
  if (model.guarded.filled == nullptr) {
    return;
  }
  const guard::Filled& filled = *model.guarded.filled;
  const guard::Filled::Parts& parts = filled.parts();
  const filled::Filters::Totals totals = parts.filters.totals();
  const auto put = [&](const char* name, const char* help, std::uint64_t value) {
    families.put({name, help, Type::Gauge}, value);
  };
  put("cuckooguard_application_filters", "Filters that applications fill.", totals.filters);
  put("cuckooguard_application_filters_max",
      "Filters that applications may fill (filters.max_filters).",
      std::uint64_t{parts.settings.max_filters});
  put("cuckooguard_application_filter_items",
      "Items in the filters that applications fill.",
      totals.items);
  put("cuckooguard_application_filter_memory_bytes",
      "Memory of the filters that applications fill.",
      totals.bytes - totals.unsure_bytes);
  put("cuckooguard_application_filters_unsure",
      "Filters that applications fill, for which this guard has no room: look-ups say 1.",
      totals.unsure);
  put("cuckooguard_application_filter_memory_max_bytes",
      "Memory that the filters that applications fill may take (filters.max_memory).",
      parts.settings.max_memory);
  put("cuckooguard_application_filters_ready",
      "1 while look-ups in filters that applications fill are answered: all is here that any "
      "guard was told.",
      parts.store.is_current(model.now) ? 1 : 0);
  for (std::size_t i = 0; i < guard::FilledCounts::kNames.size(); ++i) {
    families.put({"cuckooguard_application_filter_changes_total",
                  "Changes of filters that this guard's clients asked for, by outcome.",
                  Type::Counter},
                 filled.counts().of(i),
                 {{"outcome", std::string(guard::FilledCounts::kNames.at(i))}});
  }
  put_named(families, filled);
  if (const auto log = parts.store.log()) {
    put_log(families, *log, model.now);
  }
}

}  // namespace cuckooguard::views
