// Finds the tables that a set's patterns match, until no doubt is left, if it is time to.
//
// Threads: the caller's. Errors: Error if the connection is lost. A namespace whose tables
// cannot be listed passes, and says why; other tables are not held up by it.
#pragma once

#include <expected>

#include "follow/table_set.h"
#include "postgres/log_applier.h"

namespace cuckooguard::source::postgres {

inline constexpr int kListingsMax = 1000;

Done list_tables(TableSet<Log>& tables, Connection& connection, const Place& place);

}  // namespace cuckooguard::source::postgres
