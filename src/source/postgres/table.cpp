#include "postgres/table.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "config/nearest.h"
#include "keyspace/keyspace.h"
#include "postgres/fingerprints.h"
#include "text/number.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {

namespace {

struct UniqueKey {
  std::string name;
  bool is_primary = false;
  bool names_rows = false;  // the replica identity
  bool is_immediate = true;
  std::vector<std::size_t> columns{};  // places in those of the table
  bool can_be_null = false;
  bool is_logged = true;  // all of its columns are
};

// As many ALTER TABLE as a sentence may have; those of other partitions come the next time.
constexpr const char* kNamedMost = "20";

std::string subject(const TablePlan& table) {
  return "table \"" + table.name + "\" ";
}

std::string full_name(const Answer::value_type& row) {
  return quoted_name(row[0].value_or("")) + "." + quoted_name(row[1].value_or(""));
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
    return "UPDATE and DELETE will then log the whole old row; nothing else changes for the "
           "application";
  }
  return identity == "DEFAULT" ? "nothing changes for the application"
                               : "nothing changes for the application, unless that index is "
                                 "dropped, after which the server refuses its UPDATE and DELETE";
}

std::string words_of_lost(const TablePlan& table) {
  std::string lost;
  for (const std::size_t place : table.needed()) {
    if (table.columns[place].replica_key == 0) {
      lost += (lost.empty() ? "\"" : ", \"") + table.columns[place].name + "\"";
    }
  }
  return lost.empty() ? "needed columns in some of its partitions"
                      : "column " + lost + ", which is not part of its replica identity,";
}

std::string lacks_identity(const TablePlan& table,
                           std::span<const UniqueKey> unique_keys,
                           const Answer& lacking,
                           const std::string& publish_whole) {
  const std::string identity = how_to_name_rows(table, unique_keys);
  const std::string sql = text::joined(lacking, "; ", [&identity](const auto& row) {
    return "ALTER TABLE " + full_name(row) + " REPLICA IDENTITY " + identity;
  });
  const std::string why =
      table.primary_key.empty()
          ? "has no replica identity, so the log would not identify deleted rows"
          : "is logged without " + words_of_lost(table) + " for deleted rows";
  const bool must_be_whole = identity == "FULL" && !publish_whole.empty();
  return subject(table) + why + "; " + std::string(what_changes_with(identity)) +
         (must_be_whole ? ", after you remove the publication's column list for the table: " +
                              publish_whole + "; "
                        : ": ") +
         sql;
}

// Its partitions, and tables that inherit from it.
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
    return std::unexpected(subject(table) +
                           "has inheriting tables, whose rows belong to it in SQL but not in the "
                           "log; use partitioning instead, or separate them: ALTER TABLE " +
                           name + " NO INHERIT " + table.full_name());
  }
  if (odd.front()[2] == "f") {
    return std::unexpected(
        subject(table) +
        "has a foreign table as a partition, whose rows are not in the log: ALTER TABLE " +
        table.full_name() + " DETACH PARTITION " + name);
  }
  return std::unexpected(subject(table) + "has an unlogged partition: ALTER TABLE " + name +
                         " SET LOGGED");
}

// Partitions that have rows themselves; none of a table that is not partitioned.
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

// Without a condition; `list`: of columns, in parentheses. Empty: of all.
std::string publish_again_sql(const Place& place,
                              const TablePlan& table,
                              const std::string& list = "") {
  const std::string alter = "ALTER PUBLICATION " + quoted_name(place.publication);
  return alter + " DROP TABLE " + table.full_name() + "; " + alter + " ADD TABLE " +
         table.full_name() + list;
}

struct Published {
  bool exists = false;           // the publication
  bool takes_lists = false;      // of columns
  bool has_table = false;        // by its name
  bool has_list = false;         // of its columns
  bool leaves_out_rows = false;  // by a condition
};

Planned<Published> ask_publication(Connection& connection,
                                   const Place& place,
                                   const TablePlan& table) {
  const bool can_list = connection.server_version() >= kListsColumns;
  const auto publications = TRY(connection.ask(
      std::string("SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot, ") +
      (can_list ? "NOT EXISTS (SELECT FROM pg_catalog.pg_publication_namespace n WHERE n.pnpubid = "
                  "p.oid)"
                : "false") +
      " FROM pg_catalog.pg_publication p WHERE pubname = " + connection.quoted(place.publication)));
  if (publications.empty()) {
    return Published{.takes_lists = can_list};
  }
  const std::string named = "publication \"" + place.publication + "\" ";
  const std::string publication = quoted_name(place.publication);
  const auto& options = publications.front();
  if (options[0] != "t") {
    return std::unexpected(named + "does not publish all kinds of changes: ALTER PUBLICATION " +
                           publication + " SET (publish = 'insert, update, delete, truncate')");
  }
  if (options[1] != "t" && table.is_partitioned) {
    return std::unexpected(
        named + "publishes rows of partitions under the partitions' names: ALTER PUBLICATION " +
        publication + " SET (publish_via_partition_root = true)");
  }
  const auto tables = TRY(connection.ask(
      "SELECT pg_catalog.to_jsonb(v) ->> 'rowfilter' IS NOT NULL, EXISTS (SELECT FROM "
      "pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid WHERE "
      "p.pubname = v.pubname AND r.prrelid = " +
      std::to_string(table.oid) +
      " AND pg_catalog.to_jsonb(r) ->> 'prattrs' IS NOT NULL) FROM "
      "pg_catalog.pg_publication_tables v WHERE v.pubname = " +
      connection.quoted(place.publication) + " AND v.schemaname = " +
      connection.quoted(table.schema) + " AND v.tablename = " + connection.quoted(table.name)));
  return Published{.exists = true,
                   .takes_lists = options[2] == "t",
                   .has_table = !tables.empty(),
                   .has_list = !tables.empty() && tables.front()[1] == "t",
                   .leaves_out_rows = !tables.empty() && tables.front()[0] == "t"};
}

// Of `c`, a table's, which is `i`: by whose columns the log names rows.
constexpr const char* kNamesRows =
    "i.indrelid = c.oid AND i.indisvalid AND i.indimmediate AND (c.relreplident = 'd' AND "
    "i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)";

// Names, also in its partitions. NULL: all, in some of them.
Expected<Answer> ask_replica_identities(Connection& connection, const TablePlan& table) {
  return connection.ask(
      tree_of(
          table.oid,
          std::string("DISTINCT pg_catalog.unnest(CASE WHEN c.relreplident = 'f' THEN "
                      "ARRAY[NULL] ELSE ARRAY(SELECT a.attname::text FROM pg_catalog.pg_index i "
                      "JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = "
                      "ANY (i.indkey[0:i.indnkeyatts - 1]) WHERE ") +
              kNamesRows + ") END)") +
      "c.relkind = 'r' OR c.oid = " + std::to_string(table.oid));
}

// A partition that does not have these columns where the whole has them: before its rows the log
// describes it, and by a list it describes what has their places there.
Expected<Answer> ask_partition_of_another_order(Connection& connection,
                                                const TablePlan& table,
                                                const std::string& columns) {
  return connection.ask(
      tree_of(table.oid, "n.nspname, c.relname") +
      "c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_attribute a JOIN "
      "pg_catalog.pg_attribute b ON b.attname = a.attname AND b.attnum <> a.attnum WHERE "
      "a.attrelid = " +
      std::to_string(table.oid) + " AND b.attrelid = c.oid AND a.attname IN (" + columns +
      ")) ORDER BY 1, 2 LIMIT 1");
}

// Whether all of its rows are logged whole; if not, needed() of them.
// Of a partitioned table it is each partition's own that says what is logged of its rows.
Planned<bool> check_replica_identities(Connection& connection,
                                       const TablePlan& table,
                                       std::span<const UniqueKey> unique_keys,
                                       const std::string& publish_whole) {
  const std::string needed = text::joined(table.needed(), ", ", [&](std::size_t place) {
    return connection.quoted(table.columns[place].name);
  });
  const std::string partial_rows = tree_of(table.oid, "n.nspname, c.relname") +
                                   "(c.relkind = 'r' OR c.oid = " + std::to_string(table.oid) +
                                   ") AND c.relreplident <> 'f'";
  const auto lacking = TRY(connection.ask(
      partial_rows + " AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE " + kNamesRows +
      " AND ARRAY[" + needed +
      "]::text[] <@ ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a "
      "WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))) "
      "ORDER BY 1, 2 LIMIT " +
      kNamedMost));
  if (!lacking.empty()) {
    return std::unexpected(lacks_identity(table, unique_keys, lacking, publish_whole));
  }
  const auto partial = TRY(connection.ask(partial_rows + " LIMIT 1"));
  return partial.empty();
}

constexpr int kLogsGeneratedColumns = 180000;  // if the publication says so

class Planner {
 public:
  Planner(Connection& connection,
          const Place& place,
          const Target& target,
          const std::string& table)
      : connection_(connection), place_(place), target_(target), wanted_(table) {}

  Planned<TablePlan> plan() {
    for (const auto step : {&Planner::read_fingerprint,  // first: later changes are seen by it
                            &Planner::find_table,
                            &Planner::check_tables_below,
                            &Planner::list_parts,
                            &Planner::ask_publication,
                            &Planner::read_columns,
                            &Planner::check_list,
                            &Planner::read_unique_keys,
                            &Planner::choose_identity,
                            &Planner::choose_condition,
                            &Planner::choose_key,
                            &Planner::check_rights,
                            &Planner::check_replica_identities,
                            &Planner::check_published}) {
      TRY((this->*step)());
    }
    return std::move(table_);
  }

 private:
  std::string literal(std::string_view text) const { return connection_.quoted(text); }
  std::string subject() const { return "table \"" + wanted_ + "\" "; }

  Planned<void> read_fingerprint() {
    auto fingerprints = TRY(
        ask_fingerprints(connection_, place_.schema, place_.publication, std::span(&wanted_, 1)));
    if (const auto found = fingerprints.find(wanted_); found != fingerprints.end()) {
      table_.fingerprint = found->second;
    }
    return {};
  }

  Planned<void> find_table() {
    const auto tables = TRY(connection_.ask(
        "SELECT c.oid, c.relkind, c.relpersistence, c.relispartition, c.relreplident, "
        "pg_catalog.row_security_active(c.oid), pg_catalog.has_schema_privilege(n.oid, "
        "'USAGE'), r.relname, current_user FROM pg_catalog.pg_class c JOIN "
        "pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_class r ON "
        "r.oid = pg_catalog.pg_partition_root(c.oid) WHERE c.relkind IN ('r', 'p', 'v', 'm', "
        "'f') AND n.nspname = " +
        literal(place_.schema) + " AND c.relname = " + literal(wanted_)));
    if (tables.empty()) {
      return no_table();
    }
    const auto& row = tables.front();
    table_.schema = place_.schema;
    table_.name = wanted_;
    table_.oid = text::leading_number<std::uint32_t>(row[0]);
    table_.is_partitioned = row[1] == "p";
    replica_identity_ = row[4].value_or("");
    hides_rows_ = row[5] == "t";
    account_ = quoted_name(row[8].value_or(""));
    if (row[6] != "t") {
      return std::unexpected("the account lacks USAGE on the schema \"" + place_.schema +
                             "\": GRANT USAGE ON SCHEMA " + quoted_name(place_.schema) + " TO " +
                             account_);
    }
    if (row[1] != "r" && !table_.is_partitioned) {
      return std::unexpected(
          "\"" + wanted_ + "\" is not a table but a " +
          (row[1] == "v" ? "view" : (row[1] == "m" ? "materialized view" : "foreign table")) +
          ", which has no rows in the log; use its underlying table");
    }
    if (row[3] == "t") {
      return std::unexpected(subject() +
                             "is a partition, whose rows the log has under the name of the "
                             "partitioned table; use that: " +
                             row[7].value_or(""));
    }
    if (row[2] != "p") {
      return std::unexpected(subject() + "is not in the log because it is " +
                             (row[2] == "u"
                                  ? "unlogged: ALTER TABLE " + table_.full_name() + " SET LOGGED"
                                  : "temporary; use a permanent table"));
    }
    return {};
  }

  Planned<void> no_table() {
    const auto tables = TRY(connection_.ask(
        "SELECT c.relname FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c ON "
        "c.relnamespace = n.oid AND c.relkind IN ('r', 'p') WHERE n.nspname = " +
        literal(place_.schema) + " LIMIT 10000"));
    if (tables.empty()) {
      return std::unexpected("the schema \"" + place_.schema +
                             "\" does not exist in this database");
    }
    return std::unexpected(
        "table \"" + wanted_ + "\" does not exist in the schema \"" + place_.schema + "\"" +
        (wanted_.contains('.')
             ? "; set the schema in the source's settings and leave it out of the table name"
             : config::suggestion(wanted_, tables, first_of)));
  }

  Planned<void> check_tables_below() { return postgres::check_tables_below(connection_, table_); }

  Planned<void> list_parts() {
    table_.parts = TRY(parts_of(connection_, table_));
    return {};
  }

  Planned<void> ask_publication() {
    published_ = TRY(postgres::ask_publication(connection_, place_, table_));
    return {};
  }

  // Said last: once the table is in it, the server refuses the application's UPDATE and DELETE
  // where there is no replica identity.
  Planned<void> check_published() {
    if (published_.has_table) {
      return {};
    }
    const std::string named = "publication \"" + place_.publication + "\" ";
    const std::string publication = quoted_name(place_.publication);
    // The application goes on as before, since it has a replica identity by then.
    constexpr const char* kGoesOn = "; nothing changes for the application: ";
    return std::unexpected(published_.exists ? named + "does not have the table" + kGoesOn +
                                                   "ALTER PUBLICATION " + publication +
                                                   " ADD TABLE " + table_.full_name() + list()
                                             : "the " + named + "does not exist in this database" +
                                                   kGoesOn + "CREATE PUBLICATION " + publication +
                                                   " FOR TABLE " + table_.full_name() + list() +
                                                   " WITH (publish_via_partition_root = true)");
  }

  // Of columns, as a publication has it: what is needed here, and what it has. Empty: all.
  std::string list() const {
    if (!why_no_list_.empty() || !published_.takes_lists ||
        (published_.has_table && !published_.has_list)) {
      return "";
    }
    return " (" + names_of([this](bool is_needed, bool is_published) {
             return is_needed || (published_.has_list && is_published);
           }) +
           ")";
  }

  template <class Which>
  std::string names_of(const Which& which) const {
    std::string names;
    for (const auto& [name, is_published] : listable_) {
      if (which(needed_names_.contains(name), is_published)) {
        names += (names.empty() ? "" : ", ") + quoted_name(name);
      }
    }
    return names;
  }

  // It must have what keys, `where` and, in each partition, the replica identity are made of.
  Planned<void> check_list() {
    TRY(find_needed_names());
    const std::string named = "publication \"" + place_.publication + "\" ";
    const std::string again = ": " + publish_again_sql(place_, table_, list());
    if (published_.leaves_out_rows) {
      return std::unexpected(named + "omits rows of the table" + again);
    }
    if (published_.has_list && !why_no_list_.empty()) {
      return std::unexpected(named + "has a column list for " + subject() + why_no_list_ + again);
    }
    const std::string missing =
        names_of([](bool is_needed, bool is_published) { return is_needed && !is_published; });
    if (published_.has_list && !missing.empty()) {
      return std::unexpected(named + "omits column " + missing + " of " + subject() +
                             "which keys, where or the replica identity need" + again);
    }
    return {};
  }

  Planned<void> find_needed_names() {
    for (const std::string& name : target_.keyspace.identity_columns(target_.ns)) {
      needed_names_.insert(target_.settings.source.column_of(name));
    }
    const auto& condition = target_.settings.source.where.columns();
    needed_names_.insert(condition.begin(), condition.end());
    const auto names = TRY(ask_replica_identities(connection_, table_));
    for (const auto& row : names) {
      if (!row[0]) {
        why_no_list_ =
            "although it has REPLICA IDENTITY FULL, so the server refuses the application's UPDATE "
            "and DELETE";
      }
      needed_names_.insert(row[0].value_or(""));
    }
    const auto odd = TRY(ask_partition_of_another_order(
        connection_, table_, text::joined(needed_names_, ", ", [this](const std::string& name) {
          return literal(name);
        })));
    if (!odd.empty()) {
      why_no_list_ =
          "whose partition " + full_name(odd.front()) +
          " has its columns in a different order, so the log describes it with the wrong columns";
    }
    return {};
  }

  Planned<void> read_columns() {
    const auto rows = TRY(connection_.ask(
        "WITH RECURSIVE bases AS (SELECT a.attnum, a.atttypid AS oid FROM "
        "pg_catalog.pg_attribute a WHERE a.attrelid = " +
        std::to_string(table_.oid) +
        " AND a.attnum > 0 AND NOT a.attisdropped UNION ALL SELECT b.attnum, t.typbasetype FROM "
        "bases b JOIN pg_catalog.pg_type t ON t.oid = b.oid AND t.typtype = 'd'), listed AS "
        "(SELECT pg_catalog.to_jsonb(v) -> 'attnames' AS names FROM "
        "pg_catalog.pg_publication_tables v WHERE v.pubname = " +
        literal(place_.publication) + " AND v.schemaname = " + literal(place_.schema) +
        " AND v.tablename = " + literal(wanted_) +
        " LIMIT 1) SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), t.oid, "
        "t.typtype, t.typname, a.atttypid, a.atttypmod, a.attnotnull, "
        "COALESCE(l.collisdeterministic, true), a.attidentity <> '' OR "
        "COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false), "
        "a.attgenerated, COALESCE((SELECT names ? a.attname FROM listed), true), "
        "pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'), "
        "pg_catalog.current_setting('server_encoding') FROM "
        "pg_catalog.pg_attribute a JOIN bases b ON b.attnum = a.attnum JOIN pg_catalog.pg_type "
        "t ON t.oid = b.oid AND t.typtype <> 'd' LEFT JOIN pg_catalog.pg_collation l ON l.oid = "
        "a.attcollation LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum "
        "= a.attnum AND a.attgenerated = '' WHERE a.attrelid = " +
        std::to_string(table_.oid) + " AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"));
    for (const auto& row : rows) {
      Column column{.name = row[0].value_or(""),
                    .type_name = row[1].value_or(""),
                    .type_oid = text::leading_number<std::uint32_t>(row[2]),
                    .logged_oid = text::leading_number<std::uint32_t>(row[5]),
                    .modifier = text::leading_number<std::int32_t>(row[6]),
                    .nullable = row[7] != "t",
                    .is_deterministic = row[8] == "t",
                    .grows = row[9] == "t"};
      column.type = column_kind(column.type_oid, row[3].value_or(" ").front(), row[4].value_or(""));
      if (column.type == ColumnKind::text && blends_characters(row[13].value_or(""))) {
        column.type = ColumnKind::blended_text;
      }
      const std::string generated = row[10].value_or("");
      const bool is_published = row[11] == "t";
      const bool is_listable =
          generated.empty() ||
          (generated == "s" && connection_.server_version() >= kLogsGeneratedColumns);
      if (is_listable) {
        listable_.emplace_back(column.name, is_published);
      }
      if (!is_listable || !is_published) {
        unlogged_columns_.emplace(column.name, generated == "s");
        continue;
      }
      column.is_generated = !generated.empty();
      may_select_.push_back(row[12] == "t");
      table_.columns.push_back(std::move(column));
    }
    return {};
  }

  // Those that are valid for all rows; and, with their columns in key order, what names rows.
  Planned<void> read_unique_keys() {
    const auto rows = TRY(connection_.ask(
        "SELECT i.indexrelid, a.attname, a.attnotnull, i.indisprimary, i.indisreplident, "
        "i.indimmediate, x.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON "
        "x.oid = i.indexrelid CROSS JOIN LATERAL pg_catalog.unnest(i.indkey[0:i.indnkeyatts - "
        "1]) WITH ORDINALITY k (attnum, n) LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = "
        "i.indrelid AND a.attnum = k.attnum AND k.attnum > 0 WHERE i.indisunique AND "
        "i.indisvalid AND i.indpred IS NULL AND i.indrelid = " +
        std::to_string(table_.oid) + " ORDER BY i.indisprimary DESC, i.indexrelid, k.n"));
    std::optional<std::string> index;
    for (const auto& row : rows) {
      if (unique_keys_.empty() || index != row[0]) {
        index = row[0];
        unique_keys_.push_back(
            {.name = row[6].value_or(""),
             .is_primary = row[3] == "t",
             .names_rows = row[5] == "t" && ((replica_identity_ == "d" && row[3] == "t") ||
                                             (replica_identity_ == "i" && row[4] == "t")),
             .is_immediate = row[5] == "t"});
      }
      UniqueKey& key = unique_keys_.back();
      const auto column = std::ranges::find(table_.columns, row[1].value_or(""), &Column::name);
      if (column == table_.columns.end()) {
        key.is_logged = false;  // an expression, or a generated column
        continue;
      }
      key.can_be_null = key.can_be_null || row[2] != "t";
      key.columns.push_back(place_of(column));
    }
    return {};
  }

  std::size_t place_of(std::vector<Column>::const_iterator column) const {
    return static_cast<std::size_t>(column - table_.columns.begin());
  }

  std::expected<std::size_t, std::string> column_named(const std::string& wanted) const {
    const auto column = std::ranges::find(table_.columns, wanted, &Column::name);
    if (column != table_.columns.end()) {
      return place_of(column);
    }
    if (const auto unlogged = unlogged_columns_.find(wanted); unlogged != unlogged_columns_.end()) {
      const bool can_be_logged =
          unlogged->second && connection_.server_version() >= kLogsGeneratedColumns;
      return std::unexpected(
          "column \"" + wanted + "\" of table \"" + wanted_ +
          "\" is generated and not in the log; use the columns from which it is computed" +
          (can_be_logged ? ", or: ALTER PUBLICATION " + quoted_name(place_.publication) +
                               " SET (publish_generated_columns = stored)"
                         : ""));
    }
    return std::unexpected(subject() + "has no column \"" + wanted + "\"" +
                           config::suggestion(wanted, table_.columns, &Column::name));
  }

  auto finder() const {
    return [this](const std::string& name) { return column_named(name); };
  }

  Planned<void> choose_identity() {
    TRY(source::choose_identity(table_, target_, '"', finder()));
    table_.identity_is_unique =
        tells_values_apart() && std::ranges::any_of(unique_keys_, [this](const UniqueKey& key) {
          return key.is_logged && !key.can_be_null &&
                 std::ranges::is_permutation(key.columns, table_.identity);
        });
    table_.grows = target_.keyspace.identity_is_integer(target_.ns) &&
                   table_.columns[table_.identity.front()].grows;
    return distrusted(table_, target_, "\"" + table_.name + "\"");
  }

  // Two rows of different values have different identities.
  bool tells_values_apart() const {
    const auto placeholders = target_.keyspace.templates(target_.ns).front().placeholders();
    auto place = table_.identity.begin();
    return std::ranges::all_of(
        target_.keyspace.identity_columns(target_.ns), [&](const std::string& name) {
          const ColumnKind type = table_.columns[*place++].type;
          const auto of = std::ranges::find(placeholders, name, &keyspace::Placeholder::name)->type;
          return type == ColumnKind::text ? of == keyspace::ValueType::text
                                          : of != keyspace::ValueType::text_ci;
        });
  }

  Planned<void> choose_condition() { return source::choose_condition(table_, target_, finder()); }

  Planned<void> choose_key() {
    const bool is_full = replica_identity_ == "f";
    const auto key = std::ranges::find_if(unique_keys_, [&](const UniqueKey& each) {
      return is_full ? each.is_primary && each.is_logged : each.names_rows;
    });
    if (key != unique_keys_.end() && !key->is_logged) {
      return std::unexpected(
          subject() +
          "has a generated column in its replica identity, which is not in the log: ALTER TABLE " +
          table_.full_name() + " REPLICA IDENTITY FULL");
    }
    if (key != unique_keys_.end()) {
      table_.primary_key = key->columns;
    } else if (is_full) {
      table_.primary_key = table_.needed();
    }
    for (std::size_t i = 0; i < (is_full ? table_.columns.size() : table_.primary_key.size());
         ++i) {
      table_.columns[is_full ? i : table_.primary_key[i]].replica_key = i + 1;
    }
    return {};
  }

  Planned<void> check_rights() {
    if (hides_rows_) {
      return std::unexpected("row-level security would hide rows of table \"" + wanted_ +
                             "\" from this account: ALTER ROLE " + account_ + " BYPASSRLS");
    }
    const auto needed = table_.needed();
    const bool may =
        std::ranges::all_of(needed, [this](std::size_t place) { return may_select_[place]; });
    if (!may) {
      return std::unexpected("the account may not read table \"" + wanted_ +
                             "\": GRANT SELECT ON " + table_.full_name() + " TO " + account_);
    }
    return {};
  }

  // Texts that are keys of numbers are no error by themselves; but nobody should have the log
  // changed for a type that was mistaken.
  std::string doubts_of_types() const {
    const auto placeholders = target_.keyspace.templates(target_.ns).front().placeholders();
    const auto names = target_.keyspace.identity_columns(target_.ns);
    std::string doubts;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Column& column = table_.columns[table_.identity[i]];
      const auto of = std::ranges::find(placeholders, names[i], &keyspace::Placeholder::name);
      if (column.type == ColumnKind::text && of->is_integer()) {
        doubts += "column \"" + column.name + "\" (" + column.type_name + ") is text, and " +
                  of->text() + " matches only numbers: write {" + of->name +
                  "} unless it contains only numbers. In that case: ";
      }
    }
    return doubts;
  }

  Planned<void> check_replica_identities() {
    auto full = postgres::check_replica_identities(
        connection_,
        table_,
        unique_keys_,
        published_.has_list ? publish_again_sql(place_, table_) : "");
    if (!full) {
      auto* const why = std::get_if<std::string>(&full.error());
      return std::unexpected(why == nullptr ? std::move(full.error()) : doubts_of_types() + *why);
    }
    table_.has_full_rows = *full;
    return {};
  }

  Connection& connection_;
  const Place& place_;
  const Target& target_;
  const std::string& wanted_;
  TablePlan table_;
  std::string replica_identity_;  // relreplident
  bool hides_rows_ = false;
  Published published_;
  std::vector<std::pair<std::string, bool>> listable_;  // whether the publication has each
  std::set<std::string> needed_names_;                  // of columns, also in partitions
  std::string why_no_list_;                             // they cannot be listed
  std::string account_;                                 // with its quotes
  std::vector<UniqueKey> unique_keys_;
  std::vector<bool> may_select_;                               // as columns
  std::map<std::string, bool, std::less<>> unlogged_columns_;  // whether each is stored
};

}  // namespace

Planned<TablePlan> plan_table(Connection& connection,
                              const Place& place,
                              const Target& target,
                              const std::string& table) {
  return Planner(connection, place, target, table).plan();
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
  xids.reserve(rows.size());
  for (const auto& row : rows) {
    xids.push_back(
        whole_xid(text::leading_number<std::uint32_t>(row[0]), text::leading_number<Xid>(row[1])));
  }
  return xids;
}

}  // namespace cuckooguard::source::postgres
