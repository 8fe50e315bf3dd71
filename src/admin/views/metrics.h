// The metrics of this process (guard/fact_table.h) in Prometheus's text format, 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats). Names and units follow its naming
// page: base units, `_total` for counters, the prefix `cuckooguard_`; labels have few values, all
// from the configuration or from lists in the code.
//
// A position of a source is no metric (its label would never have the same value twice): it stands
// in /status.
//
// Threads and lifetimes: as Model. Limits: some 6 KiB per namespace, 1 KiB per source, 4 KiB for
// the rest.
#pragma once

#include <string>
#include <string_view>

#include "views/model.h"

namespace cuckooguard::views {

inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

std::string metrics_text(const Model& model);

}  // namespace cuckooguard::views
