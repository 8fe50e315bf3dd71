// Asks a SQLite database for rows (source/row_lookup.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "source/row_lookup.h"

namespace cuckooguard::source {

std::unique_ptr<RowLookup> make_sqlite_row_lookup(std::string path, std::vector<Target> targets);

}  // namespace cuckooguard::source
