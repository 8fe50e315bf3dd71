#include "postgres/server.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "text/ascii.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {

namespace {

// Of each release that can be followed. Before them a walsender kept what it had read of a table
// when a transaction that had begun before an ALTER PUBLICATION or ALTER TYPE ended behind it, and
// left out all that was committed later ("Avoid data loss …", release notes of 2025-05-08; seen).
constexpr std::array kOldestVersions{130021, 140018, 150013, 160009, 170005};
constexpr int kMajor = 10000;

std::string_view word(const std::optional<std::string>& value) {
  return value ? std::string_view(*value) : std::string_view{};
}

bool is_true(const std::optional<std::string>& value) {
  return word(value) == "t";
}

Expected<pgoutput::Lsn> lsn_of(const std::optional<std::string>& value) {
  const auto lsn = pgoutput::parse_lsn(word(value));
  if (!lsn) {
    return failed("the server returned an invalid log position: " + std::string(word(value)));
  }
  return *lsn;
}

Expected<XidSnapshot> snapshot_of(const std::optional<std::string>& value) {
  auto snapshot = XidSnapshot::parse(word(value));
  if (!snapshot) {
    return failed("the server returned an invalid snapshot: " + std::string(word(value)));
  }
  return *std::move(snapshot);
}

// The one row that a question has.
Expected<Answer::value_type> row(Connection& connection, const std::string& sql) {
  auto answer = TRY(connection.ask(sql));
  if (answer.size() != 1) {
    return failed("the server returned no row for: " + sql.substr(0, 100));
  }
  return std::move(answer.front());
}

// Where a provider keeps REPLICATION for itself, a role stands for it: RDS's.
constexpr const char* kServerSql =
    "SELECT current_setting('wal_level'), pg_is_in_recovery(),"
    " (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = CURRENT_USER)"
    "  OR EXISTS (SELECT FROM pg_roles"
    "   WHERE rolname = 'rds_replication' AND pg_has_role(oid, 'USAGE')),"
    " current_setting('max_replication_slots')::bigint"
    "  - (SELECT count(*) FROM pg_replication_slots),"
    " current_setting('max_wal_senders')::bigint - (SELECT count(*) FROM pg_stat_replication),"
    " current_setting('synchronous_standby_names'),"
    " (SELECT setting = '-1' FROM pg_settings WHERE name = 'max_slot_wal_keep_size'),"
    " quote_ident(CURRENT_USER), r.setting,"
    " r.setting = 'on' AND r.source IN ('user', 'database user')"
    " FROM pg_settings AS r WHERE r.name = 'default_transaction_read_only'";

// What it does not send, as `publish` has it.
constexpr const char* kPublicationSql =
    "SELECT concat_ws(', ', CASE WHEN NOT pubinsert THEN 'insert' END,"
    " CASE WHEN NOT pubupdate THEN 'update' END, CASE WHEN NOT pubdelete THEN 'delete' END,"
    " CASE WHEN NOT pubtruncate THEN 'truncate' END)"
    " FROM pg_publication WHERE pubname = ";

// By the names of columns, which later releases have and older ones do not.
constexpr const char* kSlotsSql =
    "SELECT slot_name, active, plugin, slot_type, database = current_database(),"
    " to_jsonb(s)->>'wal_status', to_jsonb(s)->>'invalidation_reason',"
    " to_jsonb(s)->>'two_phase', to_jsonb(s)->>'synced', confirmed_flush_lsn,"
    " greatest(0, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
    "  ELSE pg_current_wal_lsn() END, restart_lsn))::bigint, active_pid"
    " FROM pg_replication_slots AS s WHERE ";

std::string why_not(const Answer::value_type& slot) {
  if (word(slot[3]) != "logical" || word(slot[2]) != "pgoutput") {
    return "it is " + std::string(word(slot[3])) + " with the plugin " + slot[2].value_or("none") +
           ", but a logical slot with pgoutput is needed";
  }
  if (!is_true(slot[4])) {
    return "it belongs to another database";
  }
  if (word(slot[5]) == "lost" || !word(slot[6]).empty()) {
    return "the server has invalidated it (" +
           std::string(word(slot[6]).empty() ? "wal_status = lost" : word(slot[6])) + ")";
  }
  if (word(slot[7]) == "true") {
    return "it sends prepared transactions before they are committed (two_phase)";
  }
  // Of two servers that took the primary's place, one after the other, both may have it, and the
  // same timeline.
  if (word(slot[8]) == "true") {
    return "it was created on another server and copied to this one (synced)";
  }
  if (!slot[9]) {
    return "it is being created, or its creation was interrupted";
  }
  return {};
}

std::vector<Slot> slots_of(const Answer& answer) {
  std::vector<Slot> slots;
  for (const auto& each : answer) {
    Slot& slot = slots.emplace_back();
    slot.name = word(each[0]);
    slot.is_active = is_true(each[1]);
    slot.why_not = why_not(each);
    slot.is_usable = slot.why_not.empty();
    slot.confirmed = pgoutput::parse_lsn(word(each[9])).value_or(pgoutput::Lsn{});
    slot.retained = text::leading_number(each[10]);
    slot.reader = text::leading_number(each[11]);
  }
  return slots;
}

// `*`, or our name, in a list of names: `ANY 2 (a, "b")`.
bool counts_as_standby(std::string_view names) {
  std::string one;
  for (std::size_t i = 0; i <= names.size(); ++i) {
    const char byte = i < names.size() ? names[i] : ',';
    if (text::is_alphanumeric(byte) || std::string_view("_*-.").contains(byte)) {
      one += text::to_lower(byte);
    } else if (byte != '"') {
      if (one == "*" || one == kApplicationName) {
        return true;
      }
      one.clear();
    }
  }
  return false;
}

std::string version_text(int version) {
  return std::to_string(version / kMajor) + "." + std::to_string(version % kMajor);
}

// Nothing: it is not too old.
std::optional<std::string> too_old(int version) {
  const auto* const oldest = std::ranges::find_if(kOldestVersions, [version](int each) {
    return version < each && (version / kMajor == each / kMajor || each == kOldestVersions.front());
  });
  if (oldest == kOldestVersions.end()) {
    return std::nullopt;
  }
  return "the server is PostgreSQL " + version_text(version) +
         (version / kMajor == *oldest / kMajor
              ? ", which may omit rows from its log after an ALTER PUBLICATION: update it to " +
                    version_text(*oldest) + " or later"
              : ": " + version_text(*oldest) + " is the oldest supported version");
}

}  // namespace

Expected<Server> ask_server(Connection& connection, const Place& place) {
  Server server{.version = connection.server_version()};
  if (server.version < kOldestVersions.front()) {
    return server;  // it may not know what is asked here
  }
  const auto said = TRY(row(connection, kServerSql));
  server.wal_level = word(said[0]);
  server.is_standby = is_true(said[1]);
  server.may_replicate = is_true(said[2]);
  server.slots_left = text::leading_number(said[3]);
  server.walsenders_left = text::leading_number(said[4]);
  server.synchronous_standbys = word(said[5]);
  server.keeps_wal_for_ever = is_true(said[6]);
  server.account = word(said[7]);
  server.read_only = word(said[8]);
  server.hides_read_only = is_true(said[9]);
  const auto lacks = TRY(connection.value(kPublicationSql + connection.quoted(place.publication)));
  server.has_publication = lacks.has_value();
  server.publication_lacks = word(lacks);
  return server;
}

std::vector<std::string> refusals(const Server& server, const Place& place, bool has_slot) {
  std::vector<std::string> all;
  if (auto why = too_old(server.version)) {
    return {*std::move(why)};
  }
  if (server.is_standby) {
    return {
        "the server is a standby, which shows transactions in a different order than its log: set "
        "the primary's address, or the addresses of all servers"};
  }
  const std::string publication = quoted_name(place.publication);
  if (server.wal_level != "logical") {
    all.push_back("the server's log does not contain rows (wal_level = " + server.wal_level +
                  "): ALTER SYSTEM SET wal_level = logical; " +
                  (server.keeps_wal_for_ever
                       ? "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB' (without it, WAL "
                         "retained for a guard that is down fills the disk); "
                       : "") +
                  "and restart the server");
  }
  if (!server.may_replicate) {
    all.push_back("the account may not follow the log: ALTER ROLE " + server.account +
                  " REPLICATION");
  }
  if (!server.has_publication) {
    const bool can_list = server.version >= kListsColumns;
    all.push_back(
        "the publication does not exist; create it with all followed tables in place of TABLE, "
        "each of which needs a replica identity (the server refuses UPDATE and DELETE on published "
        "tables without one)" +
        std::string(can_list ? ", and in place of COLUMNS the columns of its keys, its where and "
                               "its replica identity (no list if that is FULL)"
                             : "") +
        ": CREATE PUBLICATION " + publication + " FOR TABLE " + quoted_name(place.schema) +
        ".TABLE " + (can_list ? "(COLUMNS) " : "") + "WITH (publish_via_partition_root = true)");
  } else if (!server.publication_lacks.empty()) {
    all.push_back("the publication does not publish all changes (" + server.publication_lacks +
                  "): ALTER PUBLICATION " + publication +
                  " SET (publish = 'insert, update, delete, truncate')");
  }
  if (!has_slot && server.slots_left == 0) {
    all.emplace_back(
        "the server has no free replication slot: drop an unused one (SELECT * FROM "
        "pg_replication_slots; SELECT pg_drop_replication_slot(slot_name)), or increase "
        "max_replication_slots with ALTER SYSTEM and restart the server");
  }
  if (!has_slot && server.walsenders_left == 0) {
    all.emplace_back(
        "the server has no free WAL sender: increase max_wal_senders with ALTER SYSTEM and restart "
        "the server");
  }
  if (server.hides_read_only) {
    all.push_back(
        "the account has its own default_transaction_read_only, so the guard cannot detect when "
        "the server becomes read-only: ALTER ROLE " +
        server.account + " RESET default_transaction_read_only (it may only SELECT anyway)");
  } else if (std::string why = why_left(server.read_only, server.synchronous_standbys);
             !why.empty()) {
    all.push_back(std::move(why));
  }
  return all;
}

std::string why_left(std::string_view read_only, std::string_view synchronous_standbys) {
  if (read_only == "on") {
    return "the server is read-only (default_transaction_read_only = on) but not a standby: "
           "another server may have replaced it as primary; if not: ALTER SYSTEM RESET "
           "default_transaction_read_only, or ALTER DATABASE ... RESET it; SELECT pg_reload_conf()";
  }
  if (counts_as_standby(synchronous_standbys)) {
    return "commits would wait for the guard as if it were a standby (synchronous_standby_names = "
           "'" +
           std::string(synchronous_standbys) +
           "'): name the intended standbys, ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 "
           "(NAME)'; SELECT pg_reload_conf()";
  }
  return {};
}

std::string account_sql(const config::PostgresSource& settings, const Error& refusal) {
  constexpr std::string_view kNoSuchDatabase = "3D000";
  if (refusal.state == kNoSuchDatabase) {
    return "List the server's databases with psql --list.";
  }
  const std::string account = quoted_name(settings.user);
  const std::string schema = quoted_name(settings.schema);
  return "If the password is correct, the account is missing or lacks grants. As a superuser, in "
         "the database " +
         quoted_name(settings.database) +
         ", with the password in place of PASSWORD, and the last line for each guarded table:\n"
         "  CREATE ROLE " +
         account + " LOGIN REPLICATION PASSWORD 'PASSWORD';\n  GRANT CONNECT ON DATABASE " +
         quoted_name(settings.database) + " TO " + account + ";\n  GRANT USAGE ON SCHEMA " +
         schema + " TO " + account + ";\n  GRANT SELECT ON " + schema + ".TABLE TO " + account +
         ";\n"
         "pg_hba.conf must allow it to connect, with scram-sha-256.";
}

std::string slot_sql(const Connection& connection, std::string_view name) {
  return kSlotsSql + ("slot_name = " + connection.quoted(name));
}

std::optional<Slot> slot_of(const Answer& answer) {
  auto slots = slots_of(answer);
  return slots.empty() ? std::nullopt : std::optional(std::move(slots.front()));
}

Expected<std::optional<Slot>> find_slot(Connection& connection, std::string_view name) {
  return slot_of(TRY(connection.ask(slot_sql(connection, name))));
}

Expected<std::vector<Slot>> list_slots(Connection& connection, std::string_view prefix) {
  return slots_of(
      TRY(connection.ask(kSlotsSql + ("starts_with(slot_name, " + connection.quoted(prefix)) +
                         ") ORDER BY slot_name")));
}

namespace {

// What the snapshot that was exported for it shows.
Expected<XidSnapshot> imported(Connection& questions, std::string_view name) {
  TRY(questions.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  auto set = questions.run("SET TRANSACTION SNAPSHOT " + questions.quoted(name));
  auto shows = set ? current_snapshot(questions) : std::unexpected(std::move(set.error()));
  if (auto done = questions.roll_back(); !done && shows) {
    return std::unexpected(std::move(done.error()));
  }
  return shows;
}

}  // namespace

Expected<NewSlot> create_slot(Connection& replication,
                              Connection& questions,
                              std::string_view name,
                              bool is_temporary) {
  // In words that every release knows.
  const auto made =
      TRY(row(replication,
              "CREATE_REPLICATION_SLOT " + quoted_name(name) + (is_temporary ? " TEMPORARY" : "") +
                  " LOGICAL pgoutput EXPORT_SNAPSHOT"));
  const auto begins = lsn_of(made.at(1));
  auto shows = imported(questions, word(made.at(2)));
  if (begins && shows) {
    return NewSlot{.begins = *begins, .shows = *std::move(shows)};
  }
  // Nobody knows it; what fails here fails because the session does.
  static_cast<void>(replication.run("DROP_REPLICATION_SLOT " + quoted_name(name)));
  return std::unexpected(begins ? shows.error() : begins.error());
}

Done drop_slot(Connection& connection, std::string_view name) {
  return connection.run("SELECT pg_drop_replication_slot(" + connection.quoted(name) + ")");
}

Expected<LogHead> head_of(const Answer& answer) {
  if (answer.size() != 1 || answer.front().size() != 5) {
    return failed("the server does not report its log position");
  }
  const auto& row = answer.front();
  const auto written = lsn_of(row[0]);
  const auto flushed = lsn_of(row[1]);
  auto shows = snapshot_of(row[2]);
  if (!written || !flushed || !shows) {
    return failed("the server does not report its log position");
  }
  return LogHead{.written = *written,
                 .flushed = *flushed,
                 .shows = *std::move(shows),
                 .why_not = why_left(word(row[3]), word(row[4]))};
}

Expected<pgoutput::Lsn> insert_lsn(Connection& connection) {
  return lsn_of(TRY(connection.value("SELECT pg_current_wal_insert_lsn()")));
}

Expected<XidSnapshot> current_snapshot(Connection& connection) {
  return snapshot_of(TRY(connection.value("SELECT pg_current_snapshot()")));
}

// Its timeline is that of what it writes just now, which a checkpoint tells only later. A standby
// writes nothing, and is not followed: it is none of these. (pg_control_checkpoint(), which tells
// its timeline, not every provider allows; named in a branch that is not taken it is refused, too.)
// Two that were promoted from one server have one timeline: they have not started at one moment.
Expected<std::string> server_identity(Connection& connection) {
  constexpr std::string_view kInsufficientPrivilege = "42501";
  const auto said = row(connection,
                        "SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN 'standby'"
                        " ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END,"
                        " (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"
                        " FROM pg_control_system()");
  if (!said && said.error().state == kInsufficientPrivilege) {
    const auto account = connection.value("SELECT quote_ident(CURRENT_USER)");
    return refused("the account may not query the server's identity (" + said.error().what +
                   "): GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO " +
                   std::string(account ? word(*account) : "it"));
  }
  if (!said) {
    return std::unexpected(said.error());
  }
  return std::string(word((*said)[0])) + "/" + std::string(word((*said)[1])) + "/" +
         std::string(word((*said)[2]));
}

std::string timeline_of(std::string_view identity) {
  return std::string(identity.substr(0, identity.rfind('/')));
}

namespace {

constexpr std::size_t kSourceMax = 40;

std::string named(std::string_view source, std::uint64_t id) {
  std::string name(kSlotPrefix);
  for (const char c : source.substr(0, kSourceMax)) {
    name += text::is_alphanumeric(c) ? text::to_lower(c) : '_';
  }
  return fmt::format("{}_{:08x}", name, static_cast<std::uint32_t>(id));
}

}  // namespace

std::string slot_name(std::string_view source, const filter::HashSecret& secret) {
  return named(source, filter::KeyHash(secret)(std::string("slot of ").append(source)));
}

std::string temporary_slot_name(std::string_view source) {
  return named(source, filter::KeyHash(filter::random_secret())(source));
}

}  // namespace cuckooguard::source::postgres
