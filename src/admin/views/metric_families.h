// Metrics on their way into Prometheus's text format.
//
// Threads: none of its own. Errors: std::bad_alloc alone. Limits: none of its own.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats (text format 0.0.4)
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cuckooguard::views {

using Labels = std::vector<prometheus::ClientMetric::Label>;

inline double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

struct MetricName {
  const char* name;
  const char* help;
  prometheus::MetricType type;
};

// Families in the order in which they first come; values of one stand together, whenever they come.
class MetricFamilies {
 public:
  void put(const MetricName& name, double value, Labels labels = {}) {
    auto family = std::ranges::find(all_, name.name, &prometheus::MetricFamily::name);
    if (family == all_.end()) {
      all_.push_back({.name = name.name, .help = name.help, .type = name.type, .metric = {}});
      family = std::prev(all_.end());
    }
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = name.type == prometheus::MetricType::Counter ? value : 0;
    metric.gauge.value = value;
    family->metric.push_back(std::move(metric));
  }
  void put(const MetricName& name, std::uint64_t value, Labels labels = {}) {
    put(name, static_cast<double>(value), std::move(labels));
  }
  void put(const MetricName& name, prometheus::ClientMetric::Histogram value) {
    prometheus::ClientMetric metric;
    metric.histogram = std::move(value);
    all_.push_back({.name = name.name, .help = name.help, .type = name.type, .metric = {metric}});
  }
  std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, all_);
    return std::move(out).str();
  }

 private:
  std::vector<prometheus::MetricFamily> all_;
};

}  // namespace cuckooguard::views
