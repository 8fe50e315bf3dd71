#include "postgres/table_checks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {
namespace {

// As many ALTER TABLE as a sentence may have; those of other partitions come the next time.
constexpr const char* kNamedMost = "20";

std::string subject(const TablePlan& table) {
  return "table \"" + table.name + "\" ";
}

std::string full_name(const Answer::value_type& row) {
  return quoted_name(row[0].value_or("")) + "." + quoted_name(row[1].value_or(""));
}

std::string joined(std::string_view before, std::string_view separator, std::string_view text) {
  return std::string(before) + std::string(before.empty() ? "" : separator) + std::string(text);
}

// A table, its partitions and heirs: `tree (oid)`, with the names of each.
std::string tree_of(std::uint32_t oid, std::string_view columns) {
  return "WITH RECURSIVE tree AS (SELECT " + std::to_string(oid) +
         "::pg_catalog.oid AS oid UNION SELECT i.inhrelid FROM tree t "
         "JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid) SELECT " +
         std::string(columns) +
         " FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid "
         "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE ";
}

// An index that has all that is needed costs the log less than whole rows.
std::string how_to_name_rows(const TablePlan& table, std::span<const UniqueKey> unique_keys) {
  std::vector<std::size_t> needed = table.identity;
  std::ranges::copy(table.condition_columns, std::back_inserter(needed));
  const auto key = std::ranges::find_if(unique_keys, [&needed](const UniqueKey& each) {
    return each.is_logged && !each.can_be_null && each.is_immediate &&
           std::ranges::all_of(needed, [&each](std::size_t place) {
             return std::ranges::count(each.columns, place) > 0;
           });
  });
  if (table.is_partitioned || key == unique_keys.end()) {
    return "FULL";
  }
  return key->is_primary ? "DEFAULT" : "USING INDEX " + quoted_name(key->name);
}

// For the application, and whoever looks after its database.
std::string_view what_changes_with(std::string_view identity) {
  if (identity == "FULL") {
    return "UPDATE and DELETE then write the row as it was, whole, to the server's log, and "
           "nothing "
           "else changes for the application";
  }
  return identity == "DEFAULT"
             ? "nothing changes for the application"
             : "nothing changes for the application, unless that index is dropped: then the server "
               "refuses its UPDATE and DELETE";
}

std::string words_of_lost(const TablePlan& table) {
  std::string lost;
  for (const std::size_t place : table.needed()) {
    if (table.columns[place].replica_key == 0) {
      lost = joined(lost, ", ", "\"" + table.columns[place].name + "\"");
    }
  }
  return lost.empty() ? "what is needed, in some of its partitions,"
                      : "column " + lost + ", which is no part of its replica identity,";
}

std::string lacks_identity(const TablePlan& table,
                           std::span<const UniqueKey> unique_keys,
                           const Answer& lacking) {
  const std::string identity = how_to_name_rows(table, unique_keys);
  std::string sql;
  for (const auto& row : lacking) {
    sql += sql.empty() ? "" : "; ";
    sql += "ALTER TABLE " + full_name(row) + " REPLICA IDENTITY ";
    sql += identity;
  }
  const std::string why =
      table.primary_key.empty()
          ? "has no replica identity, by which the log would name rows that are deleted"
          : "is logged without " + words_of_lost(table) + " where rows are deleted";
  return subject(table) + why + "; " + std::string(what_changes_with(identity)) + ": " + sql;
}

}  // namespace

Planned<void> check_tables_below(Connection& connection, const TablePlan& table) {
  const auto odd = TRY(connection.ask(
      tree_of(table.oid, "n.nspname, c.relname, c.relkind") + "t.oid <> " +
      std::to_string(table.oid) + " AND (c.relkind = 'f' OR c.relpersistence <> 'p' OR " +
      (table.is_partitioned ? "false" : "true") + ") ORDER BY 1, 2 LIMIT 1"));
  if (odd.empty()) {
    return {};
  }
  const std::string name = full_name(odd.front());
  if (!table.is_partitioned) {
    return std::unexpected(
        subject(table) +
        "has tables that inherit from it, whose rows SQL shows as its own and the log does "
        "not; partition it instead, or part them: ALTER TABLE " +
        name + " NO INHERIT " + table.full_name());
  }
  if (odd.front()[2] == "f") {
    return std::unexpected(
        subject(table) +
        "has a foreign table for a partition, whose rows are in no log: ALTER TABLE " +
        table.full_name() + " DETACH PARTITION " + name);
  }
  return std::unexpected(subject(table) + "has an unlogged partition: ALTER TABLE " + name +
                         " SET LOGGED");
}

Expected<std::vector<std::uint32_t>> parts_of(Connection& connection, const TablePlan& table) {
  std::vector<std::uint32_t> parts;
  if (!table.is_partitioned) {
    return parts;
  }
  const auto rows =
      TRY(connection.ask(tree_of(table.oid, "t.oid") + "c.relkind <> 'p' ORDER BY t.oid"));
  for (const auto& row : rows) {
    parts.push_back(text::leading_number<std::uint32_t>(row[0]));
  }
  return parts;
}

Planned<void> check_publication(Connection& connection,
                                const Place& place,
                                const TablePlan& table,
                                std::string& not_published) {
  const auto publications =
      TRY(connection.ask("SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot "
                         "FROM pg_catalog.pg_publication WHERE pubname = " +
                         connection.quoted(place.publication)));
  const std::string named = "publication \"" + place.publication + "\" ";
  const std::string publication = quoted_name(place.publication);
  // The application goes on as before, since it has a replica identity by then.
  constexpr const char* kGoesOn = "; nothing changes for the application: ";
  if (publications.empty()) {
    not_published = "there is no " + named + "in this database" + kGoesOn + "CREATE PUBLICATION " +
                    publication + " FOR TABLE " + table.full_name() +
                    " WITH (publish_via_partition_root = true)";
    return {};
  }
  const auto& options = publications.front();
  if (options[0] != "t") {
    return std::unexpected(named + "leaves out some kinds of changes: ALTER PUBLICATION " +
                           publication + " SET (publish = 'insert, update, delete, truncate')");
  }
  if (options[1] != "t" && table.is_partitioned) {
    return std::unexpected(named +
                           "has rows of partitions under their own names: ALTER PUBLICATION " +
                           publication + " SET (publish_via_partition_root = true)");
  }
  const auto tables = TRY(connection.ask(
      "SELECT pg_catalog.to_jsonb(v) ->> 'rowfilter' FROM pg_catalog.pg_publication_tables v "
      "WHERE v.pubname = " +
      connection.quoted(place.publication) + " AND v.schemaname = " +
      connection.quoted(table.schema) + " AND v.tablename = " + connection.quoted(table.name)));
  if (tables.empty()) {
    not_published = named + "does not have the table" + kGoesOn + "ALTER PUBLICATION " +
                    publication + " ADD TABLE " + table.full_name();
    return {};
  }
  if (tables.front()[0]) {
    return std::unexpected(named +
                           "leaves out rows of the table: " + publish_all_sql(place, table));
  }
  return {};
}

std::string publish_all_sql(const Place& place, const TablePlan& table) {
  const std::string alter = "ALTER PUBLICATION " + quoted_name(place.publication);
  return alter + " DROP TABLE " + table.full_name() + "; " + alter + " ADD TABLE " +
         table.full_name();
}

// Of a partitioned table it is each partition's own that says what is logged of its rows.
Planned<bool> check_replica_identities(Connection& connection,
                                       const TablePlan& table,
                                       std::span<const UniqueKey> unique_keys) {
  std::string needed;
  for (const std::size_t place : table.needed()) {
    needed = joined(needed, ", ", connection.quoted(table.columns[place].name));
  }
  const std::string partial_rows = tree_of(table.oid, "n.nspname, c.relname") +
                                   "(c.relkind = 'r' OR c.oid = " + std::to_string(table.oid) +
                                   ") AND c.relreplident <> 'f'";
  const auto lacking = TRY(connection.ask(
      partial_rows +
      " AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid "
      "AND i.indisvalid AND i.indimmediate AND (c.relreplident = 'd' AND i.indisprimary "
      "OR c.relreplident = 'i' AND i.indisreplident) AND ARRAY[" +
      needed +
      "]::text[] <@ ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a "
      "WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))) "
      "ORDER BY 1, 2 LIMIT " +
      kNamedMost));
  if (!lacking.empty()) {
    return std::unexpected(lacks_identity(table, unique_keys, lacking));
  }
  const auto partial = TRY(connection.ask(partial_rows + " LIMIT 1"));
  return partial.empty();
}

// Who writes holds a lock on the table, and one on each number that it has, until it has ended.
Expected<std::vector<Xid>> writers_of(Connection& connection, std::uint32_t table) {
  const auto rows = TRY(connection.ask(
      "WITH locks AS MATERIALIZED (SELECT l.* FROM pg_catalog.pg_locks l WHERE l.granted) "
      "SELECT DISTINCT x.transactionid, "
      "pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) FROM locks l JOIN locks x "
      "ON x.virtualtransaction = l.virtualtransaction AND x.locktype = 'transactionid' "
      "AND x.mode = 'ExclusiveLock' JOIN pg_catalog.pg_database d ON d.oid = l.database "
      "AND d.datname = current_database() "
      "WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.relation IN (" +
      tree_of(table, "t.oid") + "true)"));
  std::vector<Xid> xids;
  for (const auto& row : rows) {
    xids.push_back(
        whole_xid(text::leading_number<std::uint32_t>(row[0]), text::leading_number<Xid>(row[1])));
  }
  return xids;
}

}  // namespace cuckooguard::source::postgres
