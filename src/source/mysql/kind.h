// A MariaDB or MySQL server, followed by its binary log.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source {

extern const SourceKind kMysql;

}  // namespace cuckooguard::source
