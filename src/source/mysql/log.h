// MariaDB's and MySQL's binary log, as those see it who follow any log (follow/log.h).
//
// What a snapshot shows: read_view.h. How far the server's log is: server_probe.h. When a deletion
// is visible to all:
//   MySQL     gtid_executed has the transaction: it enters it behind the engine's commit;
//   MariaDB   Binlog_snapshot_position is behind it, which moves together with the engine's
//             commits; for XA COMMIT, which does not, XA RECOVER lists none any more whose verdict
//             the log has had.
//
// Threads: plain values. Limits: in a MariaDB's file of more than 4 GiB that was resumed behind
// that, places are too low, so that no deletion waits.
// Source: MySQL's rpl_semi_sync_source_wait_point; MariaDB's commit_ordered, of which XA COMMIT is
// no part.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "binlog/event.h"
#include "binlog/xid.h"
#include "follow/log.h"
#include "mysql/connection.h"
#include "mysql/log_group.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"
#include "mysql/table.h"

namespace cuckooguard::source::mysql {

class FollowedTable;
class LogApplier;
class LogFollower;
class LogStream;
class ServerProbe;
class TableReader;
struct LogFollowerSettings;
struct TableReaderSettings;

// The transaction that a change is part of, and where it ends.
struct CommitMark {
  LogGtid gtid;
  LogPlace end;
  // Of what was prepared before: MariaDB logs it before its engine has done it.
  bool is_xa_commit = false;

  const LogGtid& id() const { return gtid; }
};

// What is known of a stream before its first event.
struct LogBegin {
  binlog::ChecksumAlgorithm checksum = binlog::ChecksumAlgorithm::none;
  LogPlace end{};  // where the server's log ended by then
};

struct LogReach {
  LogPosition position;
  LogPlace place;
};

struct ReadView {
  LogPosition covered;
  std::optional<LogPlace> window_end;  // nothing: what `covered` does not cover is not visible

  Visibility shows(const CommitMark& mark) const;
  bool is_passed_by(const LogReach& applied) const;
};

// How far a server has committed what its log has.
struct Committed {
  LogPosition position;            // MySQL
  LogPlace place;                  // MariaDB
  std::set<binlog::Xid> listed{};  // MariaDB: but for these, asked behind it
  bool has_xa = false;             // MariaDB: also every XA COMMIT up to there (LogApplier::judge)

  bool covers(const CommitMark& mark) const;
  // There may be an XA COMMIT among them.
  bool covers(const LogReach& all) const;
  // What was heard of XA transactions before says nothing of this one.
  bool covers_later(const CommitMark& mark) const { return !mark.is_xa_commit && covers(mark); }
};

struct Log {
  using Id = LogGtid;
  using Position = LogPosition;
  using Place = LogPlace;
  using Group = LogGroup;
  using Mark = CommitMark;
  using Reach = LogReach;
  using View = ReadView;
  using Committed = mysql::Committed;
  using Plan = TablePlan;
  using Table = FollowedTable;
  using Applier = LogApplier;
  using Event = std::string_view;
  using Format = LogBegin;
  using Reader = TableReader;
  using Error = mysql::Error;

  using Connection = mysql::Connection;
  using Login = mysql::Login;
  using ReaderSettings = TableReaderSettings;
  using Stream = LogStream;
  using Probe = ServerProbe;
  using Follower = LogFollower;
  using FollowerSettings = LogFollowerSettings;
  static constexpr bool kIsWoken = true;

  static std::uint64_t definition_hash(const Target& target, const TablePlan& plan);
  static std::string resume_text(const LogPosition& position, const LogGroup& last);
  static std::optional<std::pair<LogPosition, LogGroup>> parse_resume(
      std::span<const std::string> lines);
};

}  // namespace cuckooguard::source::mysql
