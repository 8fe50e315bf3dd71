// MariaDB's and MySQL's binary log, as those see it who follow any log (follow/log.h).
//
// What a snapshot shows: read_view.h. How far the server's log is: server_probe.h. When a deletion
// is visible to all:
//   MySQL     gtid_executed has the transaction: it enters it behind the engine's commit;
//   MariaDB   Binlog_snapshot_position is behind it, which moves together with the engine's
//             commits, where that is to be believed (CommitWitness); for XA COMMIT, which does not,
//             XA RECOVER lists none any more whose verdict the log has had.
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

// How far a server has committed what its log has.
struct Committed {
  LogPosition position;             // MySQL
  LogPlace place;                   // MariaDB
  std::uint64_t group_commits = 0;  // MariaDB: how many there have been
  std::set<binlog::Xid> listed{};   // MariaDB: but for these, asked behind it
  bool has_xa = false;              // MariaDB: also every XA COMMIT up to there (LogApplier::judge)

  bool is_as_far_as(const Committed& other) const {
    return place == other.place && group_commits == other.group_commits;
  }

  bool covers(const CommitMark& mark) const;
  // There may be an XA COMMIT among them.
  bool covers(const LogReach& all) const;
  // What was heard of XA transactions before says nothing of this one.
  bool covers_later(const CommitMark& mark) const { return !mark.is_xa_commit && covers(mark); }
};

// Whether what a MariaDB says of its commits (Committed::place) is to be believed.
//
// A transaction that fills a file of the log is the last in it, and is committed once the next file
// has been begun. But as soon as that is begun MariaDB says that all before it has been committed:
// too early, by a moment or, while a semi-synchronous replica is silent, by seconds (seen: of 5,818
// views opened beside four writers with files of 4 KiB, 16 did not show up to three transactions).
// So a place in a file is believed if a group of this file has been committed:
//   the log has one that ends there, or before;
//   or two group commits have ended since the server first spoke of the file;
//   or the server was started with this file, before which it has committed all.
//
// Threads: under the follower's lock.
// Source: MariaDB 10.11, MYSQL_BIN_LOG::open and trx_group_commit_leader.
class CommitWitness {
 public:
  // What the log shows, as it is read.
  void file_begins(const std::string& file, bool is_of_start);
  void group_ends(const LogPlace& end);
  // A newer word. Gives the last place that was believed; an empty one: none was.
  const LogPlace& hear(const Committed& word);
  bool believes(const LogPlace& place) const;

 private:
  std::string read_file_;
  std::optional<std::uint64_t> known_from_;  // in read_file_
  std::string heard_file_;
  std::uint64_t first_heard_ = 0;  // the count of group commits, of heard_file_
  bool is_settled_ = false;        // heard_file_
  LogPlace believed_;
};

struct ReadView {
  LogPosition covered;
  std::optional<LogPlace> window_end;  // nothing: what `covered` does not cover is not visible
  LogPlace committed{};                // MariaDB: what `covered` was made of
  // MariaDB: what `covered` covers may not be visible, and nothing is lost before the server says
  // that it has committed more than this.
  std::optional<Committed> good_until = std::nullopt;
  // MariaDB: XA transactions that it had not ended, and of which the log had not been read.
  std::set<binlog::Xid> unknown_xids{};

  Visibility shows(const CommitMark& mark) const;
  bool is_passed_by(const LogReach& applied) const;
  // Behind that word of the server, all of whose log up to `applier` has been read, it may lack
  // rows that have been committed.
  bool may_lack(const Committed& word, const LogApplier& applier) const;
  bool is_good_for_now() const { return good_until.has_value(); }
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
