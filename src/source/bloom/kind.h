// A filter that another library has made, in Redis or in a file: it is read as it is, and again
// when it has changed.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source {

extern const SourceKind kBloom;

}  // namespace cuckooguard::source
