// A PostgreSQL server, followed by its logical replication.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source {

extern const SourceKind kPostgres;

}  // namespace cuckooguard::source
