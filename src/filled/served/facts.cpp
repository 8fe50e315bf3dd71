#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

#include "served/filled.h"

namespace cuckooguard::guard {
namespace {

void add_shown(FactSection& one, const Filled::Shown& filter, bool is_current) {
  one.add(in_json("key"), filter.key);
  one.add(in_json("name"), filter.name.empty() ? FactValue() : FactValue(filter.name));
  one.add(in_json("kind"), name_of(filter.shape.kind));
  one.add(in_json("ready"), is_current && !filter.is_unsure);
  one.add(in_json("items"), filter.facts.items);
  one.add(in_json("capacity"), filter.facts.capacity);
  one.add(in_json("layers"), filter.facts.layers);
  one.add(in_json("bytes"), filter.facts.bytes);
  one.add(in_json("false_positive_rate"), filter.shape.false_positive_rate);
  one.add(in_json("expires_seconds"), filter.expires_in);
}

// What clients name stands in no label.
void add_named(FactSection& filters, std::span<const Filled::Shown> named) {
  for (const Filled::Shown& filter : named) {
    filters.add({}, filter.facts.items)
        .metric("application_filter_named_items",
                "Items in the filter, by its name in filters.named.",
                {"filter", filter.name});
    filters.add({}, filter.facts.bytes)
        .metric("application_filter_named_memory_bytes",
                "Memory of the filter, by its name in filters.named.",
                {"filter", filter.name});
  }
}

void add_log(FactSection& filters, const filled::LogStatus& log, TimePoint now) {
  filters.add({"log", "log.state"}, name_of(log.state));
  filters.add({"log_why", "log.why"}, log.why);
  filters.add({"log_generation", "log.generation"}, log.generation);
  filters.add({"log_seq", "log.seq"}, log.seq);
  filters.add(in_json("log.snapshot_seq"), log.snapshot_seq);
  filters.add(in_json("log.snapshot_seconds_ago"), {});
  filters.add({"log_waiting", "log.waiting"}, log.waiting)
      .metric("application_filter_log_waiting_changes",
              "Changes that are not yet confirmed by the filters' log in Redis.");
  filters.add({"log_skipped", "log.skipped"}, log.skipped)
      .metric("application_filter_log_skipped_entries_total",
              "Entries of the filters' log that were ignored because they were not signed with the "
              "secret, or are copies.");
  filters.add({"log_rereads", "log.rereads"}, log.rereads)
      .metric("application_filter_log_rereads_total",
              "How often the filters' log was read again as a whole.");
  filters.add({}, log.seq - std::min(log.seq, log.snapshot_seq))
      .metric("application_filter_log_unsaved_entries",
              "Entries of the filters' log since its last snapshot.");
  filters.add(in_info("log_snapshot_seq"), log.snapshot_seq);
  filters
      .add({"log_snapshot_ms_ago", "log.snapshot_seconds_ago"},
           log.snapshot_at ? FactAge(std::max(now - *log.snapshot_at, TimePoint::duration(0)))
                           : FactAge())
      .metric("application_filter_snapshot_age_seconds",
              "Time since a new snapshot of the filters appeared in Redis; absent until this "
              "process has seen one.");
}

void add_totals(FactSection& filters, const Filled& filled, bool is_current) {
  const config::FilledFilters& settings = filled.parts().settings;
  const filled::Filters::Totals totals = filled.parts().filters.totals();
  filters.add({"filters", "count"}, totals.filters)
      .metric("application_filters", "Application filters.");
  filters.add(in_info("max_filters"), settings.max_filters)
      .metric("application_filters_max",
              "Maximum number of application filters (filters.max_filters).");
  filters.add("items", totals.items)
      .metric("application_filter_items", "Items in the application filters.");
  filters.add("bytes", totals.bytes - totals.unsure_bytes)
      .metric("application_filter_memory_bytes", "Memory of the application filters.");
  filters.add(in_info("max_memory"), settings.max_memory);
  filters.add("unsure", totals.unsure)
      .metric("application_filters_unsure",
              "Application filters that do not fit into this guard's memory limit, so that "
              "look-ups return 1.");
  filters.add(in_json("max_filters"), settings.max_filters);
  filters.add(in_json("max_memory"), settings.max_memory)
      .metric("application_filter_memory_max_bytes",
              "Memory limit of the application filters (filters.max_memory).");
  filters.add("durability", config::name_of(settings.durability));
  filters.add("ready", is_current)
      .metric("application_filters_ready",
              "1 while the application filters are complete, so that look-ups are exact.");
  for (std::size_t i = 0; i < FilledCounts::kNames.size(); ++i) {
    const std::string outcome(FilledCounts::kNames.at(i));
    filters.add({"changes_" + outcome, "changes." + outcome}, filled.counts().of(i))
        .metric("application_filter_changes_total",
                "Changes of filters that clients of this guard requested, by outcome.",
                {"outcome", outcome});
  }
}

}  // namespace

// To a worker of all together: to go through them would hold it up.
void filled_facts(FactTable& table, const Filled& filled) {
  const FactQuestion& asked = table.question();
  if (asked.ns) {
    return;
  }
  const bool is_current = filled.parts().store.is_current(asked.now);
  const std::size_t named = filled.parts().settings.named.size();
  const std::vector<Filled::Shown> shown =
      asked.is_brief ? std::vector<Filled::Shown>() : filled.shown(std::max(named, kFiltersShown));
  FactSection& filters = table.section({.title = "Filters", .json = "filters"});
  add_totals(filters, filled, is_current);
  add_named(filters, std::span(shown).first(std::min(named, shown.size())));
  filters.add(in_json("log"), {});
  if (const auto log = filled.parts().store.log()) {
    add_log(filters, *log, asked.now);
  }
  filters.add(in_json("shown"), std::vector<std::string>());
  for (const Filled::Shown& filter : shown | std::views::take(kFiltersShown)) {
    add_shown(table.section({.json = "filters.shown[]"}), filter, is_current);
  }
}

std::optional<Complaint> complaint_of(const Filled& filled) {
  auto log = filled.parts().store.log();
  if (!log || log->state == filled::LogState::ready) {
    return std::nullopt;
  }
  const bool is_lost = log->state == filled::LogState::lost;
  return Complaint{.is_grave = is_lost,
                   .what = is_lost ? "The log of the application filters is unreadable"
                                   : "The log of the application filters is being read",
                   .why = std::move(log->why),
                   .hint =
                       "until it has been read, EXISTS returns 1 for every item, and additions "
                       "wait or are refused; the guard keeps retrying"};
}

}  // namespace cuckooguard::guard
