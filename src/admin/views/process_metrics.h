// The metrics of the process itself: its configuration, clients, log, certificates, and whether it
// reaches Redis.
//
// Threads and lifetimes: as Model.
#pragma once

#include "views/metric_families.h"
#include "views/model.h"

namespace cuckooguard::views {

void put_process(MetricFamilies& families, const Model& model);

}  // namespace cuckooguard::views
