// A consistent view of a database, and how far in its log the view reaches, without a lock.
//
// MariaDB says so exactly: START TRANSACTION WITH CONSISTENT SNAPSHOT stops both the engine and the
// log between two commits, and Binlog_snapshot_file and _position name the place.
//
// MySQL does not. What can be had there is a window around the view:
//
//   all that `covered` (gtid_executed, read before the view is opened) has is visible: a GTID
//   enters it after the engine's commit;
//   all that is visible stands before `window_end` (the log's end, read behind it): the log is
//   written before the engine commits.
//
// In between a transaction may be visible or not. PendingChanges settles that row by row.
// For MariaDB the window is empty, but for two things.
// When it begins a new file of its log it names a place too early (CommitWitness). Such a view is
// opened again, until one is believed; if nothing is committed for a while, the view is good until
// something is (open_view_for_now): who has not been told that his transaction is committed does
// not miss its rows.
// And it logs XA COMMIT before the engine has done it, not together with it (seen: 10 of 5000 views
// that were opened beside XA COMMITs did not show the last one). So a row of one that came while
// the log's word was kept is settled as in a window; and before the view is opened TableReader
// waits for those that were logged before (log_follower.cpp).
//
// Positions that are read beside the view and taken for its own lose rows, or count them twice
// (seen; notes on change following, 3 and 6; integration/exactness has the wrong ones, and catches
// them).
//
// Threads: its own. Errors: Error, also if the server does not tell. Limits: the view holds
// the server's undo log back while it is open.
// Source: https://mariadb.com/kb/en/enhancements-for-start-transaction-with-consistent-snapshot;
// MySQL's binlog group commit; DBLog, arXiv 2010.12597, has the same rule for chunks.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "binlog/xid.h"
#include "mysql/connection.h"
#include "mysql/log.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"

namespace cuckooguard::source::mysql {

// MariaDB: how far in its log its engine has committed: a place, and the count of group commits.
Expected<Committed> committed(Connection& connection);
Expected<Committed> committed(const Answer& status);
inline constexpr std::string_view kCommittedSql = "SHOW STATUS LIKE 'binlog_%'";
// MariaDB: the XA transactions that it has prepared and not done.
Expected<std::set<binlog::Xid>> listed_xids(Connection& connection);
std::set<binlog::Xid> listed_xids(const Answer& rows);
inline constexpr std::string_view kListedSql = "XA RECOVER";

// Opens a view on the connection, for all that is selected on it until ROLLBACK.
Expected<ReadView> open_view(Connection& connection);

// MariaDB: the same, of a server that does not tell what a view shows.
Expected<ReadView> open_view_for_now(Connection& connection);
// The server does not tell, at least for now.
bool is_not_told(const Error& error);

// Opens and closes views until one shows all up to `applied`: the log may be ahead of what is
// visible for as long as a commit takes. An error if none of kViewsMax does.
inline constexpr int kViewsMax = 1000;
Expected<ReadView> open_current_view(const LogPosition& applied,
                                     const std::function<Expected<ReadView>()>& open,
                                     const std::function<Done()>& close);

// Where it is called from; tests put wrong positions in its place.
using OpenView = Expected<ReadView> (*)(Connection& connection);

}  // namespace cuckooguard::source::mysql
