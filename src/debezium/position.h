// Where in its database's log a connector saw a change: the `source` block of a Debezium message as
// something to compare.
//
// Streams are at least once: after a restart messages come again, from further back. Of two changes
// of one row the later one in the log is the newer one, however often either is delivered:
//
//   connector          place, compared from left to right
//   mysql, mariadb     number of the binary log's file, pos, row
//   postgresql         sequence: LSN of the commit before this transaction, lsn
//   sqlserver          commit_lsn, change_lsn, event_serial_no
//   oracle             commit_scn, scn, rs_id, ssn (LogMiner)
//
// PostgreSQL's `lsn` alone is no order of a stream: transactions come in the order of their
// commits, and a change in one may be older in the log than the commit before it. Of one row both
// orders are the same, since the row was locked.
//
// Equal places: changes of one event, of different rows; and the delete and the create by which an
// update of a primary key arrives, in this order.
//
// A row of a snapshot (Snapshot, message.h) has the place at which the connector was: Oracle's is
// exact (all commits up to it are in the row), and is taken as behind them. The others' may be
// before or after a change that the row already shows. Whoever compares the two must take the row
// to exist if in doubt.
//
// What no message says: that the connector has gone to another server of the same name (a failover
// or RESET MASTER: file and position begin again), or that PostgreSQL's log was restored. Places
// then compare, and mean nothing.
//
// Threads: any. Errors: words, or unordered. Limits: kNameBytesMax.
// Source: Debezium 3, Binlog-, Postgres-, SqlServer- and OracleSourceInfoStructMaker, SourceInfo of
//   PostgreSQL (`sequence`), Lsn of SQL Server.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::debezium {

enum class Connector : std::uint8_t { mysql, mariadb, postgresql, sqlserver, oracle };

// As `source.connector` has it.
std::string_view name_of(Connector connector);
std::optional<Connector> connector_named(std::string_view name);
constexpr bool is_binlog(Connector connector) {
  return connector == Connector::mysql || connector == Connector::mariadb;
}

// 40 bytes without pointers, so that many can be kept.
struct Position {
  Connector connector = Connector::mysql;
  std::array<std::uint64_t, 4> place{};

  bool operator==(const Position&) const = default;
  // Unordered: of two connectors. Of two origins it means nothing: ask why_incomparable().
  std::partial_ordering operator<=>(const Position& other) const {
    return connector == other.connector ? std::partial_ordering(place <=> other.place)
                                        : std::partial_ordering::unordered;
  }
};

inline constexpr std::size_t kNameBytesMax = 1024;

// Whose places these are.
struct Origin {
  Connector connector = Connector::mysql;
  std::string server;  // `source.name`: topic.prefix, which Debezium wants to be unique
  // Of a binary log the name of its files before the number: `mysql-bin` of mysql-bin.000003. Of
  // SQL Server the database, since each has a log of its own. Else empty.
  std::string log;

  bool operator==(const Origin&) const = default;
};

// As a sentence: which of the three differs. Nothing: their positions compare.
std::optional<std::string> why_incomparable(const Origin& one, const Origin& other);

// For a checkpoint and for people, in one line, and back:
//
//   mysql shop mysql-bin.000003 154 0
//   postgresql shop 16/B374D848 16/B374D900
//   sqlserver shop testDB 00000027:00000758:0005 00000027:00000758:0003 1
//   oracle shop 2125544 2125540 00002a.00001b42.0010 1
//   oracle shop 2125544 end                             (of a snapshot: behind all of that commit)
//
// Names have %XX for blanks, controls and %.
struct Place {
  Origin origin;
  Position position;

  std::string text() const;
  static std::optional<Place> parse(std::string_view text);

  bool operator==(const Place&) const = default;
};

// What a `source` block says, as it stands there; empty: it says nothing.
struct SourceFields {
  std::string_view file;                                     // binary log
  std::string_view pos, row;                                 // binary log
  std::string_view sequence, lsn;                            // PostgreSQL
  std::string_view commit_lsn, change_lsn, event_serial_no;  // SQL Server
  std::string_view commit_scn, scn, rs_id, ssn;              // Oracle
  std::string_view database;
  bool is_snapshot = false;
};

// Decimal digits, and nothing else. Each message has several, and std::from_chars takes longer.
std::optional<std::uint64_t> number_in(std::string_view text);

// The field that is missing though the connector always writes it, or that is no such place; empty:
// none, and `position` and `log`, which is Origin::log as a view of the fields, are set.
std::string_view read_position(Connector connector,
                               const SourceFields& fields,
                               Position& position,
                               std::string_view& log);

}  // namespace cuckooguard::debezium
