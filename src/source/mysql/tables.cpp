#include "mysql/tables.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "config/table_pattern.h"
#include "mysql/server.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

using config::NameCase;

// MySQL's partial revokes take from a right to all what information_schema does not tell.
Expected<bool> is_revoked_in_part(Connection& connection, const std::string& schema) {
  const auto grants = TRY(connection.ask("SHOW GRANTS"));
  const std::string place = " ON " + quoted_name(schema) + ".";
  return std::ranges::any_of(grants, [&place](const auto& row) {
    const std::string grant = row[0].value_or("");
    const std::size_t on = grant.find(place);
    return grant.starts_with("REVOKE ") && on != std::string::npos && grant.find("SELECT") < on;
  });
}

// Why not all tables may be shown to us.
Expected<std::optional<std::string>> missing_grant(Connection& connection) {
  const auto grantee = TRY(own_account(connection));
  const std::string ours =
      "grantee = '" + connection.escaped(grantee) + "' AND privilege_type = 'SELECT'";
  const auto granted = TRY(connection.value(
      "SELECT (SELECT COUNT(*) FROM information_schema.user_privileges WHERE " + ours +
      ") + (SELECT COUNT(*) FROM information_schema.schema_privileges WHERE " + ours +
      " AND CAST(DATABASE() AS BINARY) LIKE CAST(table_schema AS BINARY))"));
  const auto schema = TRY(connection.value("SELECT DATABASE()"));
  const auto revoked = TRY(is_revoked_in_part(connection, schema.value_or("")));
  if (granted.value_or("0") != "0" && !revoked) {
    return std::nullopt;
  }
  return "a pattern of tables needs a right to all of them, or those that the server does not show "
         "would be missed: GRANT SELECT ON " +
         quoted_name(schema.value_or("")) + ".* TO " + grantee;
}

Expected<NameCase> name_case(Connection& connection) {
  const auto setting = TRY(connection.value("SELECT @@lower_case_table_names"));
  return setting.value_or("0") == "0" ? NameCase::exact : NameCase::ignored;
}

}  // namespace

Planned<std::vector<std::string>> find_tables(Connection& connection,
                                              std::span<const std::string> wanted) {
  if (std::ranges::any_of(wanted, config::is_table_pattern)) {
    if (auto why = TRY(missing_grant(connection))) {
      return std::unexpected(*std::move(why));
    }
  }
  const auto names = TRY(name_case(connection));
  auto rows = TRY(connection.stream(
      "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY "
      "table_name"));
  std::vector<std::string> tables;
  for (;;) {
    const std::optional<Row> row = TRY(rows.next());
    if (!row) {
      break;
    }
    const std::string_view name = (*row)[0].value_or("");
    if (config::matches_any_table(wanted, name, names)) {
      tables.emplace_back(name);
    }
  }
  config::add_missing_names(wanted, names, tables);
  return tables;
}

Expected<std::vector<KeyedTable>> list_keyed_tables(Connection& connection) {
  const auto rows = TRY(connection.ask(
      "SELECT t.table_name, c.column_name, LOWER(c.data_type), LOWER(c.column_type), "
      "c.character_set_name, c.collation_name FROM information_schema.tables t LEFT JOIN "
      "information_schema.statistics s ON s.table_schema = t.table_schema AND s.table_name = "
      "t.table_name AND s.index_name = 'PRIMARY' LEFT JOIN information_schema.columns c ON "
      "c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.column_name = "
      "s.column_name WHERE t.table_schema = DATABASE() ORDER BY t.table_name, s.seq_in_index"));
  return keyed_tables(rows, [](const auto& row) -> std::string {
    const Column column{.name = row[1].value_or(""),
                        .data_type = row[2].value_or(""),
                        .column_type = row[3].value_or(""),
                        .charset = row[4].value_or(""),
                        .collation = row[5].value_or("")};
    if (column.type() == ColumnKind::integer) {
      return placeholder_for(column, {column.is_unsigned() ? ":uint64" : ":int64"});
    }
    return unreadable(column) ? "" : placeholder_for(column, {"", "|ci", ":uuid", ":date"});
  });
}

Expected<TableEstimate> size_of_table(Connection& connection, const TablePlan& plan) {
  const auto answer = TRY(connection.ask(
      "SELECT table_rows, auto_increment FROM information_schema.tables WHERE table_schema = "
      "DATABASE() AND table_name = '" +
      connection.escaped(plan.name) + "'"));
  TableEstimate size;
  if (!answer.empty()) {
    const auto& row = answer.front();
    size.rows = text::leading_number(row[0]);
    size.next_id = text::leading_number(row[1]);
  }
  return size;
}

}  // namespace cuckooguard::source::mysql
