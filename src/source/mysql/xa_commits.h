// Waits until a MariaDB's engine has ended the XA transactions that its log has ended before: else
// a read view may not show them, although its position covers them (read_view.h).
//
// XA RECOVER lists a transaction until it is done. A listed one is
//   prepared, as far as the log was read: its verdict will come with the log;
//   ended: its verdict was read, so that its rows must be waited for;
//   unknown: its PREPARE was not read. It is waited for too, but may be one that nobody will ever
//   end; or one whose verdict was logged just before the log was begun to be read, which must then
//   be done within kXaCommitMax.
//
// Threads: its own. Errors: MysqlError, also if one that was ended is not done after kXaCommitMax:
// the load must be tried again.
#pragma once

#include <chrono>
#include <expected>
#include <stop_token>

#include "follow/table_set.h"
#include "mysql/connection.h"
#include "mysql/log_applier.h"
#include "source/source.h"

namespace cuckooguard::source {

inline constexpr std::chrono::seconds kXaCommitMax{1};

std::expected<void, MysqlError> wait_for_xa_commits(MysqlConnection& connection,
                                                    TableSet<MysqlLog>& tables,
                                                    const Clock& clock,
                                                    const std::stop_token& stop);

}  // namespace cuckooguard::source
