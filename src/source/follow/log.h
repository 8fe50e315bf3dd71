// What a transaction log is to those who follow it: a struct of types, `Log` in these templates.
//
//   Id         names a transaction: a GTID, say
//   Position   how far a log was applied: covers(Id), covers(Position), text(), parse(), flavor(),
//              ==
//   Place      where in a server's files the log was applied, if a position alone does not prove
//              anything; else std::monostate; an Applier's place() tells
//   Group      what the last transaction of a position is known again by; parse() and text() in
//              one line are the log's own
//   Mark       a transaction, as it commits: id(); copied where it has to wait
//   Reach      how far a log was applied, by all that tells: { Position position; … }
//   View       what a snapshot shows: { Position covered; … }, shows(Mark), is_passed_by(Reach);
//              whether it may_lack(Committed, Applier) something of what it should show, and
//              is_good_for_now(): until a server's next word, which must be waited for
//   Committed  what a server has shown to be visible to all: covers(Mark), covers(Reach), and
//              covers_later(Mark), whether it says so of a transaction that was not read then
//   Plan       how a table is read: name, needed(), identity, condition, condition_columns,
//              primary_key: places of columns, those of needed() being what a row is read with;
//              key_is_readable, identity_is_unique, grows; ==
//   Table      a TableChanges that understands what the log says of its table
//   Applier    what applies the log's events to tables (mysql/log_applier.h is one)
//   Event      what an Applier takes; Format: what a stream's events depend on
//   Reader     a session in which tables are read (table_loader.h); Login: what it is opened with
//   Error      what a Reader fails with: `what`, is_refusal(), is_lost()
//
// Of a server that is followed (server_follower.h, server_reader.h, server_kind.h):
//   Connection, Login          open(login), run(), value(), interrupt(); a login has a timeout
//   ReaderSettings, Stream, Probe, Follower, FollowerSettings
//   kIsWoken                   a stop, and a watch that ends, cut the wait for the log's next event
//                              short, which is an error then
//   is_position_gone(error)    its log does not have what comes behind a position
//   open_same_server(login, identity), size_of_table(connection, plan)
//
// Threads: types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cuckooguard::source {

// A row's values, in the order of Plan::needed(); nullopt for NULL.
using RowValues = std::span<const std::optional<std::string_view>>;

// Where these columns are in a row that is read with those that are `needed`.
inline std::vector<std::size_t> places_in(std::span<const std::size_t> needed,
                                          std::span<const std::size_t> columns) {
  std::vector<std::size_t> places;
  places.reserve(columns.size());
  for (const std::size_t column : columns) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(needed, column) - needed.begin()));
  }
  return places;
}

// Whether a snapshot has what a transaction has done.
enum class Visibility : std::uint8_t { visible, perhaps, not_yet };

// Why a position counts no more.
inline constexpr std::string_view kOtherLog =
    "the server's log differs from the one followed so far: it was reset or truncated";

struct TableEstimate {
  std::uint64_t rows = 0;     // an estimate
  std::uint64_t next_id = 0;  // of ids that grow; 0: there is none
};

}  // namespace cuckooguard::source
