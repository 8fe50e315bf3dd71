// Sources of type fleet: what another guard, a builder, publishes of its database.
#pragma once

#include "source/source_kind.h"

namespace cuckooguard::fleet {

extern const source::SourceKind kFollowerKind;

}  // namespace cuckooguard::fleet
