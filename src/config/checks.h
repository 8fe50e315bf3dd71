// What must hold between the parts of a configuration: names that are referred to exist, templates
// do not contradict each other, the guard does not listen on its own upstream.
#pragma once

#include "config/config.h"
#include "config/diagnostic.h"
#include "config/places.h"

namespace cuckooguard::config {

void check(const Config& config, const Places& places, Report& report);

}  // namespace cuckooguard::config
