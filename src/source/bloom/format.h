// Bytes of a filter, read as the configuration says.
//
// Threads: any. Lifetimes: nothing is kept. Errors: a sentence. Limits: the readers' (foreign/).
#pragma once

#include <string>

#include "config/config.h"
#include "foreign/filter.h"

namespace cuckooguard::source {

// Of a file, or of a bitmap whose shape the settings tell.
foreign::FilterOrWhyNot read_filter(const config::BloomSource& settings, std::string bytes);

}  // namespace cuckooguard::source
