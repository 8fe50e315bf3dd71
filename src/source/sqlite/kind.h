// A SQLite database: read again whenever it has changed, or followed by what its triggers write
// down.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source {

extern const SourceKind kSqlite;

}  // namespace cuckooguard::source
