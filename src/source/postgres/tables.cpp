// Which tables there are, and what is read of them.
#include <algorithm>
#include <iterator>
#include <ranges>
#include <string_view>

#include "config/table_pattern.h"
#include "postgres/fingerprints.h"
#include "postgres/table.h"
#include "text/number.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {
namespace {

// By the planner, which knows the file's size beside what ANALYZE has seen, of all partitions.
std::uint64_t planned_rows(std::string_view plan) {
  constexpr std::string_view kRows = "\"Plan Rows\": ";
  const std::size_t at = plan.find(kRows);
  return at == std::string_view::npos ? 0 : text::leading_number(plan.substr(at + kRows.size()));
}

}  // namespace

std::string TablePlan::full_name() const {
  return quoted_name(schema) + "." + quoted_name(name);
}

std::string TablePlan::listed() const {
  return text::joined(needed(), ", ", [this](std::size_t place) {
    const std::string quoted = quoted_name(columns[place].name);
    return is_null_only(place) ? "CASE WHEN " + quoted + " IS NOT NULL THEN 1 END" : quoted;
  });
}

// The condition itself is not for the server: it is the guard that decides, as of rows in the log.
std::string TablePlan::select_sql() const {
  return "SELECT " + listed() + " FROM " + full_name();
}

// What is a table, and its columns, is copied with less work than what a query gives; but not a
// generated column.
std::string TablePlan::copy_sql() const {
  const bool is_itself =
      !is_partitioned && std::ranges::none_of(needed(), [this](std::size_t place) {
        return is_null_only(place) || columns[place].is_generated;
      });
  return "COPY " + (is_itself ? full_name() + " (" + listed() + ")" : "(" + select_sql() + ")") +
         " TO STDOUT";
}

std::string TablePlan::count_sql() const {
  return "SELECT pg_catalog.count(*) FROM " + full_name();
}

Planned<std::vector<std::string>> find_tables(Connection& connection,
                                              const Place& place,
                                              std::span<const std::string> wanted) {
  const auto there = TRY(ask_fingerprints(connection, place.schema, place.publication, wanted));
  std::vector<std::string> tables;
  std::ranges::copy(there | std::views::keys, std::back_inserter(tables));
  config::add_missing_names(wanted, config::NameCase::exact, tables);
  return tables;
}

Expected<std::vector<KeyedTable>> list_keyed_tables(Connection& connection, const Place& place) {
  const auto rows = TRY(connection.ask(
      "SELECT c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), t.oid, "
      "t.typtype, t.typname, COALESCE(l.collisdeterministic, true), "
      "pg_catalog.current_setting('server_encoding') FROM pg_catalog.pg_class c JOIN "
      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_index i ON "
      "i.indrelid = c.oid AND i.indisprimary LEFT JOIN LATERAL "
      "pg_catalog.unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY k (attnum, n) ON true LEFT "
      "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum LEFT JOIN "
      "pg_catalog.pg_type t ON t.oid = a.atttypid LEFT JOIN pg_catalog.pg_collation l ON l.oid = "
      "a.attcollation WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = " +
      connection.quoted(place.schema) +
      " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND "
      "pg_catalog.has_any_column_privilege(c.oid, 'SELECT') ORDER BY c.relname, k.n"));
  return keyed_tables(rows, [](const auto& row) {
    Column column{.name = row[1].value_or(""),
                  .type_name = row[2].value_or(""),
                  .type_oid = text::leading_number<std::uint32_t>(row[3]),
                  .is_deterministic = row[6] == "t"};
    column.type = column_kind(column.type_oid, row[4].value_or(" ").front(), row[5].value_or(""));
    if (column.type == ColumnKind::text && blends_characters(row[7].value_or(""))) {
      column.type = ColumnKind::blended_text;
    }
    return column.type == ColumnKind::integer
               ? placeholder_for(column, {":int64"})
               : placeholder_for(column, {"", "|ci", ":uuid", ":numeric", ":date", ":bytea"});
  });
}

Expected<TableEstimate> size_of_table(Connection& connection, const TablePlan& plan) {
  const auto planned =
      TRY(connection.value("EXPLAIN (FORMAT JSON) SELECT FROM " + plan.full_name()));
  TableEstimate size{.rows = planned_rows(planned.value_or(""))};
  if (!plan.grows) {
    return size;
  }
  // What the sequence has given away, if we may see it; and the largest that there is, where an
  // index knows it.
  const std::string& column = plan.columns[plan.identity.front()].name;
  const auto last = TRY(connection.value(
      "SELECT GREATEST((SELECT s.last_value FROM pg_catalog.pg_class c JOIN "
      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_sequences s ON "
      "s.sequencename = c.relname AND s.schemaname = n.nspname WHERE c.oid = "
      "pg_catalog.pg_get_serial_sequence(" +
      connection.quoted(plan.full_name()) + ", " + connection.quoted(column) +
      ")::pg_catalog.regclass), " +
      (plan.identity_is_unique
           ? "(SELECT pg_catalog.max(" + quoted_name(column) + ") FROM " + plan.full_name() + ")"
           : std::string("0")) +
      ", 0)"));
  size.next_id = text::leading_number(last) + 1;
  return size;
}

}  // namespace cuckooguard::source::postgres
