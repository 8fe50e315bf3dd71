// What a PostgreSQL server says of itself, whether its log can be followed, and its slots.
//
// Refused, each with the SQL that mends it: wal_level, no REPLICATION, no publication, no room for
// a slot or a walsender, a standby, a release before 13 or a minor one whose log can lack rows;
// synchronous_standby_names by which the guard would count as a standby, so that commits would wait
// for it ('*').
//
// Threads: free functions. Errors: Error; a missing right becomes a sentence.
// Source: PostgreSQL 13 to 18, asked by hand; notes on reach, E.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/key_hash.h"
#include "pgoutput/lsn.h"
#include "postgres/connection.h"
#include "postgres/table.h"
#include "postgres/xid_snapshot.h"

namespace cuckooguard::source::postgres {

// As pg_stat_replication shows us.
inline constexpr const char* kApplicationName = "cuckooguard";

struct Server {
  int version = 0;      // 150004
  std::string account;  // as SQL writes it, quoted where it must be
  std::string wal_level;
  bool is_standby = false;
  bool may_replicate = false;
  bool has_publication = false;
  std::string publication_lacks;  // "delete, truncate": of the four kinds of changes
  std::uint64_t slots_left = 0;
  std::uint64_t walsenders_left = 0;
  std::string synchronous_standbys;
  std::string read_only;            // default_transaction_read_only, as we see it
  bool hides_read_only = false;     // the account has that setting of its own
  bool keeps_wal_for_ever = false;  // max_slot_wal_keep_size = -1
};

Expected<Server> ask_server(Connection& connection, const Place& place);
// Empty: the log can be followed. `has_slot`: its own is there already.
std::vector<std::string> refusals(const Server& server, const Place& place, bool has_slot);

// Why a server is not followed, or not any more, whose position counts all the same when that has
// passed. It has become read-only, and is no standby: another may have taken its place. Or commits
// would wait for us: for as long as we are connected, until a checkpoint stands. Empty: it is.
std::string why_left(std::string_view read_only, std::string_view synchronous_standbys);

// What gives an account that was refused all that a guard needs, with PASSWORD for its password and
// TABLE for a table; or where the databases are listed, if there is none of this name.
std::string account_sql(const config::PostgresSource& settings, const Error& refusal);

struct Slot {
  std::string name;
  bool is_active = false;
  std::uint64_t reader = 0;    // the process that has it, then
  bool is_usable = false;      // pgoutput's, logical, of this database, and its log is there
  std::string why_not;         // then
  pgoutput::Lsn confirmed;     // what comes behind it is kept
  std::uint64_t retained = 0;  // bytes of log that it keeps from being removed
};

// To be prepared, or asked; and what it answers.
std::string slot_sql(const Connection& connection, std::string_view name);
std::optional<Slot> slot_of(const Answer& answer);
// Nothing: there is none of this name.
Expected<std::optional<Slot>> find_slot(Connection& connection, std::string_view name);
Expected<std::vector<Slot>> list_slots(Connection& connection, std::string_view prefix);

struct NewSlot {
  pgoutput::Lsn begins;  // what is committed behind it is in its stream
  XidSnapshot shows;     // what was committed before
};
// On a replication session; `questions` is another one, for the snapshot that comes with it.
Expected<NewSlot> create_slot(Connection& replication,
                              Connection& questions,
                              std::string_view name,
                              bool is_temporary);
Done drop_slot(Connection& connection, std::string_view name);

// Where the log is, and who is seen, asked at once.
struct LogHead {
  pgoutput::Lsn written;  // as insert_lsn()
  pgoutput::Lsn flushed;  // up to there it is sent
  XidSnapshot shows;
  std::string why_not;  // it is to be left: why_left()
};
inline constexpr const char* kHeadSql =
    "SELECT pg_catalog.pg_current_wal_insert_lsn(), pg_catalog.pg_current_wal_flush_lsn(), "
    "pg_catalog.pg_current_snapshot(), "
    "pg_catalog.current_setting('default_transaction_read_only'), "
    "pg_catalog.current_setting('synchronous_standby_names')";
Expected<LogHead> head_of(const Answer& answer);

// Where the log's writing is: every commit that has returned is before it.
Expected<pgoutput::Lsn> insert_lsn(Connection& connection);
Expected<XidSnapshot> current_snapshot(Connection& connection);

// What a guard's replication slot is called: cuckooguard_SOURCE_ID, in letters that PostgreSQL
// allows, at most 63. An operator finds all slots of guards by their beginning.
inline constexpr std::string_view kSlotPrefix = "cuckooguard_";

// One that is kept: of a storage directory, which has a secret of its own, and a source.
std::string slot_name(std::string_view source, const filter::HashSecret& secret);
// One that ends with its session: another one each time.
std::string temporary_slot_name(std::string_view source);

}  // namespace cuckooguard::source::postgres
