// PostgreSQL's log, as pgoutput decodes it, as those see it who follow any log (follow/log.h).
//
// A position is a place in the server's log (LSN): what was committed before it has been applied.
// That it is the same log shows the last transaction before it, which the server sends once more
// when the stream is resumed: a copy of the server that was taken earlier (a snapshot of its disk,
// another standby that was promoted) has the slot, and goes on from the same places with other
// transactions.
//
// Places say nothing of what is visible, numbers do: a snapshot shows a transaction or not, exactly
// (xid_snapshot.h), so that no row is ever in doubt. Three things follow:
//
//   a view serves if it shows all that was applied before: of this the applier keeps the few that
//   nobody has seen yet (LogGroup::unseen);
//   it is passed when the log has been read to where its writing was behind the view's opening;
//   a deletion is for all when a snapshot taken now shows its transaction.
//
// Threads: plain values.
// Source: notes on reach, E.1; PostgreSQL's procarray.c and snapbuild.c, whose order this rests on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "follow/log.h"
#include "pgoutput/lsn.h"
#include "pgoutput/message.h"
#include "postgres/connection.h"
#include "postgres/fingerprints.h"
#include "postgres/table.h"
#include "postgres/xid_snapshot.h"

namespace cuckooguard::source::postgres {

class FollowedTable;
class LogApplier;
class LogFollower;
class LogStream;
class ServerProbe;
class TableReader;
struct LogFollowerSettings;
struct TableReaderSettings;

// A transaction is known by where it ends.
struct CommitId {
  pgoutput::Lsn end;
};

class LogPosition {
 public:
  enum class Flavor : bool { postgres };

  LogPosition() = default;
  explicit LogPosition(pgoutput::Lsn lsn) : lsn_(lsn) {}
  static std::optional<LogPosition> parse(std::string_view text, std::optional<Flavor> flavor);

  std::string text() const;
  Flavor flavor() const { return Flavor::postgres; }
  pgoutput::Lsn lsn() const { return lsn_; }
  bool covers(const CommitId& id) const { return id.end <= lsn_; }
  bool covers(const LogPosition& other) const { return other.lsn_ <= lsn_; }
  bool operator==(const LogPosition&) const = default;

 private:
  pgoutput::Lsn lsn_{};
};

// By which a transaction is known again: two histories may have one at the same place, of the same
// number, but not at the same microsecond.
struct CommitStamp {
  pgoutput::Lsn lsn;
  pgoutput::Timestamp time;
  pgoutput::TransactionId xid = 0;

  bool operator==(const CommitStamp&) const = default;
};

// Of a position, what a checkpoint needs besides: its last transaction, and those that it covers
// and that nobody had seen to be visible when it was taken.
struct LogGroup {
  // So that a checkpoint has room for it (filter::kSourcePositionMax).
  static constexpr std::size_t kTextMax = 1024;

  CommitId last;
  std::vector<Xid> unseen;
  CommitStamp commit{};  // of 0/0: none has come since the slot was made

  const CommitId& id() const { return last; }
  bool is_same_as(const LogGroup& other) const {
    return last.end == other.last.end && commit == other.commit;
  }
  // In one line. Many become ranges, in which are others between them if it would be too long.
  std::string text() const;
  static std::optional<LogGroup> parse(std::string_view text);
};

struct CommitMark {
  CommitId end;
  Xid xid = 0;

  const CommitId& id() const { return end; }
};

struct LogReach {
  LogPosition position;
  std::vector<Xid> unseen;  // of all that was applied
};

struct Committed;

struct ReadView {
  XidSnapshot snapshot;
  LogPosition end;  // where the log's writing was, asked behind it

  Visibility shows(const CommitMark& mark) const {
    return snapshot.shows(mark.xid) ? Visibility::visible : Visibility::not_yet;
  }
  bool is_passed_by(const LogReach& applied) const { return applied.position.covers(end); }
  bool may_lack(const Committed&, const LogApplier&) const { return false; }
  bool is_good_for_now() const { return false; }
};

// What everybody sees by now.
struct Committed {
  XidSnapshot snapshot;
  // Of the tables, as the catalog had them; nothing: it was not asked.
  std::shared_ptr<const TableFingerprints> fingerprints{};
  std::string schema{};  // where they are

  bool covers(const CommitMark& mark) const { return snapshot.shows(mark.xid); }
  bool covers(const LogReach& all) const;
  bool covers_later(const CommitMark& mark) const { return covers(mark); }
};

// What a stream gives: a message of pgoutput, or word that all before `end` has been sent.
struct LogEvent {
  std::string_view message;  // empty: a keepalive
  pgoutput::Lsn end;
};

struct LogBegin {
  Xid near = 0;  // a number of about now: the log's have 32 bits
};

struct Log {
  using Id = CommitId;
  using Position = LogPosition;
  using Place = std::monostate;
  using Group = LogGroup;
  using Mark = CommitMark;
  using Reach = LogReach;
  using View = ReadView;
  using Committed = postgres::Committed;
  using Plan = TablePlan;
  using Table = FollowedTable;
  using Applier = LogApplier;
  using Event = LogEvent;
  using Format = LogBegin;
  using Reader = TableReader;
  using Error = postgres::Error;

  using Connection = postgres::Connection;
  using Login = postgres::Login;
  using ReaderSettings = TableReaderSettings;
  using Stream = LogStream;
  using Probe = ServerProbe;
  using Follower = LogFollower;
  using FollowerSettings = LogFollowerSettings;
  static constexpr bool kIsWoken = false;

  static std::uint64_t definition_hash(const Target& target, const TablePlan& plan);
  // The position is where the last transaction ends: behind it the log of another history may have
  // others.
  static std::string resume_text(const LogPosition& position, const LogGroup& last);
  static std::optional<std::pair<LogPosition, LogGroup>> parse_resume(
      std::span<const std::string> lines);
};

}  // namespace cuckooguard::source::postgres
