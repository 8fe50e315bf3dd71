// The log's level, which a reload may change. Threads: any.
#pragma once

#include "config/config.h"

namespace cuckooguard::cli {

void set_log_level(config::LogLevel level);

}  // namespace cuckooguard::cli
