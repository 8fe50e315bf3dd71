// A SQLite database: read again whenever it has changed, or followed by what its triggers write
// down.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "source/row_lookup.h"
#include "source/source_kind.h"

namespace cuckooguard::source::sqlite {

// Asks a SQLite database for rows (source/row_lookup.h).

std::unique_ptr<RowLookup> make_row_lookup(std::string path, std::vector<Target> targets);

extern const SourceKind kKind;

}  // namespace cuckooguard::source::sqlite
