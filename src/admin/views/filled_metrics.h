// The filters that applications fill, as metrics: of all together, and of each that
// filters.named names. What clients name stands in no label.
//
// Threads and lifetimes: as Model. Limits: 2 KiB, and 300 bytes for each named filter.
#pragma once

#include "views/metric_families.h"
#include "views/model.h"

namespace cuckooguard::views {

void put_filled(MetricFamilies& families, const Model& model);

}  // namespace cuckooguard::views
