// Metrics on their way into Prometheus's text format.
//
// Threads: none of its own. Errors: std::bad_alloc alone. Limits: none of its own.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats (text format 0.0.4)
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cuckooguard::views {

using Labels = std::vector<prometheus::ClientMetric::Label>;

struct MetricName {
  const char* name;
  const char* help;
  prometheus::MetricType type;
};

// Families in the order in which they first come; all values of one are put one after the other.
class MetricFamilies {
 public:
  void put(const MetricName& name, double value, Labels labels = {}) {
    if (all_.empty() || all_.back().name != name.name) {
      all_.push_back({.name = name.name, .help = name.help, .type = name.type, .metric = {}});
    }
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = name.type == prometheus::MetricType::Counter ? value : 0;
    metric.gauge.value = value;
    all_.back().metric.push_back(std::move(metric));
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
