// A file of rows, which is read again whenever it has changed.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source {

extern const SourceKind kFile;

}  // namespace cuckooguard::source
