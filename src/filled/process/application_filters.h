// The filters that applications fill, as the process has them (app/guests.h): kept on this machine,
// or shared by guards through a log in Redis.
#pragma once

#include "app/guests.h"

namespace cuckooguard::guard {

app::ApplicationFilters::Made make_application_filters(
    const config::Config& config, const app::ApplicationFilters::Environment& environment);

}  // namespace cuckooguard::guard
