// A MariaDB or MySQL server, followed by its binary log.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source::mysql {

extern const SourceKind kKind;

}  // namespace cuckooguard::source::mysql
