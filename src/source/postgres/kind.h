// A PostgreSQL server, followed by its logical replication.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source::postgres {

extern const SourceKind kKind;

}  // namespace cuckooguard::source::postgres
