// How many rows a namespace's tables have, and which filters they would be given: for `cuckooguard --plan`. What the source itself
// goes by when it loads (load_sizing.h), asked of the database, and nothing is written or kept.
//
// Called by: cli/plan.h. Threads: the caller's; it blocks. Errors: a sentence: the source cannot be reached, or a table not be read.
// Limits: a server's own estimate of its rows may be off; SQLite and files are counted.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "filter/sizing.h"
#include "source/source.h"

namespace cuckooguard::source {

struct TableSize {
  std::string table;  // empty: a file
  std::uint64_t rows = 0;
  bool is_estimate = false;
  filter::DeleteMode deletes = filter::DeleteMode::deferred;
};

// In no order that means anything.
std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& source,
                                                              const Target& target);

}  // namespace cuckooguard::source
