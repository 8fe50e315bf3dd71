#include "views/metrics.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <variant>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cuckooguard::views {
namespace {

using guard::Fact;
using guard::FactSection;
using prometheus::ClientMetric;
using prometheus::MetricType;

// The order in which this page has its families, by what stands behind "cuckooguard_" or
// "process_". Others follow, as providers have them.
constexpr std::string_view kOrder =
    " build_info config_last_reload_successful config_last_reload_timestamp_seconds "
    "config_settings_needing_restart clients refused_clients_total log_dropped_lines_total "
    "certificate_remaining_seconds upstream_up control_state cpu_seconds_total "
    "resident_memory_bytes virtual_memory_bytes start_time_seconds open_fds max_fds "
    "commands_answered_total unguarded_keys_total unchecked_reads_total share_filled_keys_total "
    "scripts_without_keys_total command_duration_seconds keys_total http_checks_total "
    "learned_keys_total added_keys_total overlay_share_lost_keys_total sampled_keys_total "
    "verified_keys_total contradicted_keys_total unverified_keys_total replaced_keys_total "
    "overlay_overflows_total attack namespace_fresh namespace_passing_seconds "
    "namespace_proof_age_seconds namespace_mode filter_state contradictions_total "
    "contradictions_open contradictions_dropped_total rows_hidden_by_lag_total "
    "rows_read_before_commit_total filter_tables filter_items filter_capacity_items "
    "filter_load_ratio filter_expected_false_positive_ratio filter_memory_bytes "
    "filter_stale_items filter_isolated_rows filter_full filter_measured_false_positive_ratio "
    "load_progress_ratio source_state source_proof_age_seconds source_losses_total "
    "source_troubles_total source_log_retained_bytes source_flush_transactions_total ";

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Nothing: there is no sample.
struct MetricValue {
  std::optional<double> operator()(std::monostate) const { return std::nullopt; }
  std::optional<double> operator()(const guard::FactAge& age) const {
    return age ? std::optional(seconds_of(*age)) : std::nullopt;
  }
  std::optional<double> operator()(const std::string& /*text*/) const { return 1; }
  std::optional<double> operator()(const std::vector<std::string>& texts) const {
    return static_cast<double>(texts.size());
  }
  std::optional<double> operator()(const guard::FactHistogram& /*value*/) const {
    return std::nullopt;
  }
  std::optional<double> operator()(auto number) const { return static_cast<double>(number); }
};

ClientMetric::Histogram histogram_of(const guard::FactHistogram& value) {
  ClientMetric::Histogram all;
  for (std::size_t i = 0; i < value.counts.size(); ++i) {
    all.sample_count += value.counts[i];
    if (i < value.bounds.size()) {
      all.bucket.push_back(
          {.cumulative_count = all.sample_count, .upper_bound = seconds_of(value.bounds[i])});
    }
  }
  all.sample_sum = seconds_of(value.sum);
  return all;
}

// Samples of one family stand together, whenever they come.
class Families {
 public:
  void put(const FactSection& about, const Fact& fact) {
    if (!fact.states.empty()) {
      for (const std::string_view state : fact.states) {
        const bool is_now = std::get<std::string>(fact.value.any) == state;
        add_number(about, fact, {fact.label.first, std::string(state)}, is_now ? 1 : 0);
      }
    } else if (const auto* const times = std::get_if<guard::FactHistogram>(&fact.value.any)) {
      add(about, fact, fact.label, MetricType::Histogram).histogram = histogram_of(*times);
    } else if (const auto number = std::visit(MetricValue(), fact.value.any)) {
      add_number(about, fact, fact.label, *number);
    }
  }

  std::string text() {
    std::ranges::stable_sort(all_, {}, [](const prometheus::MetricFamily& family) {
      return kOrder.find(" " + family.name.substr(family.name.find('_') + 1) + " ");
    });
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, all_);
    return std::move(out).str();
  }

 private:
  void add_number(const FactSection& about,
                  const Fact& fact,
                  const guard::FactLabel& label,
                  double number) {
    const bool is_counter = fact.metric_name.ends_with("_total");
    ClientMetric& sample =
        add(about, fact, label, is_counter ? MetricType::Counter : MetricType::Gauge);
    (is_counter ? sample.counter.value : sample.gauge.value) = number;
  }

  ClientMetric& add(const FactSection& about,
                    const Fact& fact,
                    const guard::FactLabel& label,
                    MetricType type) {
    const std::string name =
        std::string(fact.metric_name.starts_with("process_") ? "" : "cuckooguard_") +
        std::string(fact.metric_name);
    auto family = std::ranges::find(all_, name, &prometheus::MetricFamily::name);
    if (family == all_.end()) {
      family = all_.insert(
          all_.end(), {.name = name, .help = std::string(fact.help), .type = type, .metric = {}});
    }
    ClientMetric& sample = family->metric.emplace_back();
    for (const auto& [key, value] : about.labels) {
      sample.label.push_back({.name = key, .value = value});
    }
    if (!label.first.empty()) {
      sample.label.push_back({.name = label.first, .value = label.second});
    }
    return sample;
  }

  std::vector<prometheus::MetricFamily> all_;
};

}  // namespace

std::string metrics_text(const Model& model) {
  const guard::FactTable table = facts_of(model, process_use());
  Families families;
  for (const FactSection& section : table.sections()) {
    for (const Fact& fact : section.facts) {
      if (!fact.metric_name.empty()) {
        families.put(section, fact);
      }
    }
  }
  return families.text();
}

}  // namespace cuckooguard::views
