// The nodes of a Redis that is more than one server, as metrics.
//
// Threads and lifetimes: as Model. Limits: guard::NodeView::kShownMax nodes.
#pragma once

#include "views/metric_families.h"
#include "views/model.h"

namespace cuckooguard::views {

void put_nodes(MetricFamilies& families, const Model& model);

}  // namespace cuckooguard::views
