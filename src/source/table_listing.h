// Finds the tables that a set's patterns match, until no doubt is left, if it is time to.
//
// Called by: TableLoader, before it reads; LogFollower, before checkpoints are taken up: both while no
// other loader reads. Threads: the caller's. Errors: MysqlError if the connection is lost. A namespace whose tables
// cannot be listed passes, and says why; other tables are not held up by it. Limits: kListingsMax questions; then
// the doubt is left for the next time.
#pragma once

#include <expected>

#include "source/mysql_connection.h"
#include "source/table_set.h"

namespace cuckooguard::source {

inline constexpr int kListingsMax = 1000;

std::expected<void, MysqlError> list_tables(TableSet& tables, MysqlConnection& connection);

}  // namespace cuckooguard::source
