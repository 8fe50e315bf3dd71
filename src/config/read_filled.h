// `filters` -> FilledFilters.
#pragma once

#include <span>

#include "config/config.h"
#include "config/section.h"

namespace cuckooguard::config {

void read_filters(const Section& top, Config& config);
std::span<const KeyList> filter_sections();

}  // namespace cuckooguard::config
