// A consistent view of a database, and how far in its log the view reaches, without a lock.
//
// MariaDB says so itself: START TRANSACTION WITH CONSISTENT SNAPSHOT stops both the engine and the log
// between two commits, and Binlog_snapshot_file and _position name the place. Positions that are read
// before or after are not it: rows between the two would be lost or counted twice (seen; notes on change
// following, 3 and 6; integration/mariadb_log_test.cpp has the wrong one, and catches it).
//
// Called by: the follower, before it reads tables. Threads: the source's. Errors: MysqlError, also if the
// server does not tell. Limits: the view holds the server's undo log back while it is open.
// Source: https://mariadb.com/kb/en/enhancements-for-start-transaction-with-consistent-snapshot.
#pragma once

#include <expected>

#include "source/log_position.h"
#include "source/mysql_connection.h"

namespace cuckooguard::source {

// Opens a view on the connection, for all that is selected on it until close_view().
std::expected<LogPosition, MysqlError> open_mariadb_view(MysqlConnection& connection);

std::expected<void, MysqlError> close_view(MysqlConnection& connection);

}  // namespace cuckooguard::source
