// Finds the tables that a set's patterns match, until no doubt is left, if it is time to.
//
// Threads: the caller's. Errors: MysqlError if the connection is lost. A namespace whose tables
// cannot be listed passes, and says why; other tables are not held up by it. Limits: kListingsMax
// questions; then the doubt is left for the next time.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "follow/table_set.h"
#include "mysql/connection.h"
#include "mysql/log_applier.h"

namespace cuckooguard::source {

inline constexpr int kListingsMax = 1000;

std::expected<void, MysqlError> list_tables(TableSet<MysqlLog>& tables,
                                            MysqlConnection& connection);

// Opens a table, which waits for the definition that is being carried out on it. The server's
// answer.
using OpenTable = std::function<std::expected<void, MysqlError>(const std::string& table)>;

// Whether not one of these tables exists, although a listing has missed them all. An error if that
// of one cannot be told.
std::expected<bool, MysqlError> are_all_gone(const std::vector<std::string>& tables,
                                             const OpenTable& open);

}  // namespace cuckooguard::source
