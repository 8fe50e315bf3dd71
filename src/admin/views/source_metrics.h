// The metrics of all sources.
//
// Threads and lifetimes: as Model.
#pragma once

#include "views/metric_families.h"
#include "views/model.h"

namespace cuckooguard::views {

void put_sources(MetricFamilies& families, const Model& model);

}  // namespace cuckooguard::views
