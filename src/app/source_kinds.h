// The kinds of sources that there are.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::app {

const source::SourceKind& kind_of(const config::Source& settings);

}  // namespace cuckooguard::app
