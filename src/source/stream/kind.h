// The source kind `debezium`: tables whose changes somebody else's Debezium writes into streams.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::source::stream {

extern const SourceKind kKind;

}  // namespace cuckooguard::source::stream
