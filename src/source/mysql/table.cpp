#include "mysql/table.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "binlog/sql_words.h"
#include "config/nearest.h"
#include "config/table_pattern.h"
#include "mysql/server.h"
#include "text/ascii.h"
#include "text/number.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::mysql {

namespace {

using binlog::SqlWords;
using Kind = SqlWords::Kind;
using Action = ForeignKey::Action;

//   CREATE TABLE `t` (
//     ...,
//     CONSTRAINT `name` FOREIGN KEY (`column`, ...) REFERENCES `other` (...) ON DELETE ... ON
//     UPDATE ...
//   ) ENGINE=InnoDB ...
class Reader {
 public:
  explicit Reader(std::string_view text) : words_(text) { step(); }

  std::expected<std::vector<ForeignKey>, std::string> read() {
    if (!takes("CREATE") || !takes("TABLE")) {
      return not_understood();
    }
    while (word_.kind == Kind::quoted || word_.text == ".") {
      step();
    }
    if (word_.text != "(") {
      return not_understood();
    }
    do {
      step();
      if (!item()) {
        return not_understood();
      }
    } while (word_.text == ",");
    return word_.text == ")" ? std::expected<std::vector<ForeignKey>, std::string>(std::move(all_))
                             : not_understood();
  }

 private:
  static std::unexpected<std::string> not_understood() {
    return std::unexpected(std::string("cannot parse its SHOW CREATE TABLE"));
  }
  void step() { word_ = words_.next(); }
  bool takes(std::string_view word) {
    const bool is_it = word_.is(word);
    if (is_it) {
      step();
    }
    return is_it;
  }
  bool is_at_end() const { return word_.kind == Kind::end || word_.kind == Kind::malformed; }

  // A column, a key, a constraint: up to the comma or parenthesis behind it.
  bool item() {
    std::string name;
    if (takes("CONSTRAINT") && word_.kind == Kind::quoted) {
      name = text::unquoted(word_.text);
      step();
    }
    if (!takes("FOREIGN")) {
      return skip_item();
    }
    ForeignKey& key = all_.emplace_back(ForeignKey{.name = std::move(name)});
    return takes("KEY") && columns(key) && takes("REFERENCES") && actions(key);
  }

  bool skip_item() {
    for (int depth = 0; !is_at_end(); step()) {
      if (depth == 0 && (word_.text == "," || word_.text == ")")) {
        return true;
      }
      depth += word_.text == "(" ? 1 : 0;
      depth -= word_.text == ")" ? 1 : 0;
    }
    return false;
  }

  bool columns(ForeignKey& key) {
    if (word_.text != "(") {
      return false;
    }
    do {
      step();
      if (word_.kind != Kind::quoted) {
        return false;
      }
      key.columns.push_back(text::unquoted(word_.text));
      step();
    } while (word_.text == ",");
    const bool is_closed = word_.text == ")";
    step();
    return is_closed;
  }

  bool actions(ForeignKey& key) {
    while (word_.text != ")" && !is_at_end()) {  // the other table and its columns
      step();
    }
    step();
    while (takes("ON")) {
      const bool is_delete = word_.is("DELETE");
      if (!is_delete && !word_.is("UPDATE")) {
        return false;
      }
      step();
      (is_delete ? key.on_delete : key.on_update) = action(is_delete);
    }
    return word_.text == "," || word_.text == ")";
  }

  Action action(bool is_delete) {
    if (takes("CASCADE")) {
      return is_delete ? Action::erase : Action::change;
    }
    if (takes("SET")) {  // NULL, DEFAULT
      step();
      return Action::change;
    }
    if (takes("NO")) {  // ACTION
      step();
    } else {
      takes("RESTRICT");  // nothing else is left, and what is not understood is not skipped
    }
    return Action::none;
  }

  SqlWords words_;
  SqlWords::Word word_;
  std::vector<ForeignKey> all_;
};

// A generated column may change with any other, and one that is not known may be any.
bool changes_what_is_read(const TablePlan& table, const ForeignKey& key) {
  const std::vector<std::size_t> read = table.needed();
  const bool reads_generated = std::ranges::any_of(
      read, [&table](std::size_t place) { return table.columns[place].is_generated; });
  return reads_generated || std::ranges::any_of(key.columns, [&](const std::string& name) {
           const auto column = std::ranges::find_if(table.columns, [&name](const Column& any) {
             return text::equals_in_any_case(any.name, name);
           });
           return column == table.columns.end() ||
                  std::ranges::find(read, column->ordinal) != read.end();
         });
}

}  // namespace

std::expected<std::vector<ForeignKey>, std::string> foreign_keys_of(std::string_view create_table) {
  return Reader(create_table).read();
}

Planned<std::vector<ForeignKey>> ask_foreign_keys(Connection& connection, const TablePlan& table) {
  constexpr unsigned kTableAccessDenied = 1142;
  const std::string name = quoted_name(table.schema) + "." + quoted_name(table.name);
  const auto shown = connection.ask("SHOW CREATE TABLE " + name);
  if (!shown && shown.error().code == kTableAccessDenied) {
    const auto account = own_account(connection);
    return std::unexpected("table `" + table.name + "` is only partly visible: GRANT SELECT ON " +
                           name + " TO " + account.value_or("the guard's user"));
  }
  if (!shown) {
    return std::unexpected(shown.error());
  }
  auto keys = foreign_keys_of(shown->empty() ? "" : shown->front()[1].value_or(""));
  if (!keys) {
    return std::unexpected("table `" + table.name + "`: " + keys.error());
  }
  return *std::move(keys);
}

std::expected<void, std::string> rows_change_unlogged(const TablePlan& table,
                                                      std::span<const ForeignKey> keys) {
  for (const ForeignKey& key : keys) {
    const bool erases = key.on_delete == Action::erase;
    const bool changes = key.on_delete == Action::change || key.on_update == Action::change;
    if (erases || (changes && changes_what_is_read(table, key))) {
      return std::unexpected("foreign key `" + key.name + "` of table `" + table.name + "` " +
                             (erases ? "deletes rows" : "changes key or condition columns") +
                             " along with rows of another table, which the log does not record; "
                             "change it to ON DELETE RESTRICT ON UPDATE RESTRICT");
    }
  }
  return {};
}

namespace {

constexpr std::string_view kUniqueKeysSql =
    "SELECT index_name, column_name, index_type FROM information_schema.statistics WHERE "
    "table_schema = DATABASE() AND non_unique = 0 AND table_name = '";

using text::lower_case;

class Planner {
 public:
  Planner(Connection& connection, const Target& target, const std::string& table)
      : connection_(connection), target_(target), wanted_(table) {}

  Planned<TablePlan> plan() {
    for (const auto step : {&Planner::find_table,
                            &Planner::read_foreign_keys,
                            &Planner::read_columns,
                            &Planner::read_unique_keys,
                            &Planner::choose_identity,
                            &Planner::choose_condition,
                            &Planner::check_foreign_keys,
                            &Planner::check_row_image}) {
      TRY((this->*step)());
    }
    return std::move(table_);
  }

 private:
  std::string literal(std::string_view text) const { return connection_.escaped(text); }

  Planned<void> find_table() {
    auto tables = TRY(connection_.ask(
        "SELECT table_name, table_type, engine, DATABASE() FROM information_schema.tables WHERE "
        "table_schema = DATABASE() AND table_name = '" +
        literal(wanted_) + "'"));
    for (const auto& row : tables) {
      if (row[0] != wanted_) {
        continue;
      }
      table_.schema = row[3].value_or("");
      table_.name = wanted_;
      if (row[1] != "BASE TABLE") {
        return std::unexpected("`" + table_.name + "` is not a table but a " +
                               lower_case(row[1].value_or("thing")) +
                               ", which has no rows in the log; use its underlying table");
      }
      if (row[2] != "InnoDB") {
        return std::unexpected("`" + table_.name + "` uses the engine " + row[2].value_or("?") +
                               ", which has no consistent reads: ALTER TABLE " +
                               quoted_name(table_.name) + " ENGINE = InnoDB");
      }
      return {};
    }
    return no_table();
  }

  Planned<void> no_table() {
    const auto tables = TRY(connection_.ask(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"));
    return std::unexpected("table `" + wanted_ +
                           "` does not exist, or the account has no SELECT grant on it" +
                           config::suggestion(wanted_, tables, first_of));
  }

  Planned<void> read_foreign_keys() {
    foreign_keys_ = TRY(ask_foreign_keys(connection_, table_));
    return {};
  }

  Planned<void> read_columns() {
    auto columns = TRY(connection_.ask(
        "SELECT column_name, data_type, column_type, character_set_name, collation_name, "
        "is_nullable, extra, character_octet_length FROM information_schema.columns WHERE "
        "table_schema = DATABASE() AND table_name = '" +
        literal(table_.name) + "' ORDER BY ordinal_position"));
    for (auto& row : columns) {
      Column column{.name = row[0].value_or(""),
                    .data_type = lower_case(row[1].value_or("")),
                    .column_type = lower_case(row[2].value_or("")),
                    .charset = row[3].value_or(""),
                    .collation = row[4].value_or("")};
      column.ordinal = table_.columns.size();
      column.nullable = row[5] != "NO";
      const std::string extra = lower_case(row[6].value_or(""));
      column.is_auto_increment = extra.contains("auto_increment");
      column.is_generated = extra.contains("virtual") || extra.contains("stored");
      column.bytes = text::leading_number<std::uint32_t>(row[7]);
      table_.columns.push_back(std::move(column));
    }
    return {};
  }

  Planned<void> read_unique_keys() {
    auto rows = TRY(connection_.ask(std::string(kUniqueKeysSql) + literal(table_.name) +
                                    "' ORDER BY index_name, seq_in_index"));
    std::string index;
    for (const auto& row : rows) {
      if (unique_keys_.empty() || index != row[0]) {
        index = row[0].value_or("");
        unique_keys_.emplace_back();
        // Of what is too long for an index (TEXT, say) MariaDB keeps a hash, in a column of its
        // own.
        table_.hidden_columns += row[2] == "HASH" ? 1 : 0;
      }
      const auto column = std::ranges::find(table_.columns, row[1].value_or(""), &Column::name);
      if (column == table_.columns.end()) {
        unique_keys_.back().can_be_null = true;  // an expression
        continue;
      }
      unique_keys_.back().columns.push_back(column->ordinal);
      unique_keys_.back().can_be_null = unique_keys_.back().can_be_null || column->nullable;
      if (index == "PRIMARY") {
        table_.primary_key.push_back(column->ordinal);
        column->primary_key = table_.primary_key.size();
      }
    }
    if (table_.primary_key.empty()) {
      return std::unexpected(
          "table `" + table_.name +
          "` has no primary key, so the log does not identify changed rows; add one");
    }
    table_.key_is_readable = std::ranges::none_of(table_.primary_key, [this](std::size_t place) {
      return key_text(table_.columns[place]) == KeyText::none;
    });
    return {};
  }

  std::expected<std::size_t, std::string> column_named(const std::string& wanted) const {
    const auto column = std::ranges::find_if(table_.columns, [&wanted](const Column& any) {
      return text::equals_in_any_case(any.name, wanted);
    });
    if (column == table_.columns.end()) {
      return std::unexpected("table `" + table_.name + "` has no column `" + wanted + "`" +
                             config::suggestion(wanted, table_.columns, &Column::name));
    }
    return column->ordinal;
  }

  auto finder() const {
    return [this](const std::string& name) { return column_named(name); };
  }

  Planned<void> choose_identity() {
    TRY(source::choose_identity(table_, target_, '`', finder()));
    table_.identity_is_unique = std::ranges::any_of(unique_keys_, [this](const UniqueKey& key) {
      return !key.can_be_null && std::ranges::is_permutation(key.columns, table_.identity);
    });
    table_.grows = target_.keyspace.identity_is_integer(target_.ns) &&
                   table_.columns[table_.identity.front()].is_auto_increment;
    note_uuids();
    return distrusted(table_, target_, "`" + table_.name + "`");
  }

  void note_uuids() {
    const auto placeholders = target_.keyspace.templates(target_.ns).front().placeholders();
    const auto& names = target_.keyspace.identity_columns(target_.ns);
    for (std::size_t i = 0; i < table_.identity.size(); ++i) {
      const auto placeholder =
          std::ranges::find(placeholders, names[i], &keyspace::Placeholder::name);
      const std::size_t place = table_.identity[i];
      if (placeholder->type == keyspace::ValueType::uuid &&
          table_.columns[place].type() == ColumnKind::bytes) {
        table_.uuids.push_back(place);
      }
    }
    table_.uuid_order = target_.settings.source.uuids;
  }

  Planned<void> choose_condition() {
    TRY(source::choose_condition(table_, target_, finder()));
    for (std::size_t i = 0; i < table_.condition_columns.size(); ++i) {
      const std::size_t place = table_.condition_columns[i];
      if (table_.is_uuid(place) && table_.condition.use_of(i).compares()) {
        return std::unexpected("where: column `" + table_.columns[place].name +
                               "` stores UUIDs as 16 bytes, which a condition cannot compare");
      }
    }
    return {};
  }

  Planned<void> check_foreign_keys() { return rows_change_unlogged(table_, foreign_keys_); }

  // Rows without what has not changed still have their primary key.
  Planned<void> check_row_image() {
    const auto image = TRY(connection_.value("SELECT @@global.binlog_row_image"));
    if (image == "FULL" || table_.needed().size() == table_.primary_key.size()) {
      return {};
    }
    return std::unexpected(
        "the server does not log unchanged columns of a row (binlog_row_image = " +
        image.value_or("") + "), but for table `" + table_.name +
        "` columns outside of the primary key are needed: SET GLOBAL binlog_row_image = FULL");
  }

  struct UniqueKey {
    std::vector<std::size_t> columns;
    bool can_be_null = false;
  };

  Connection& connection_;
  const Target& target_;
  const std::string& wanted_;
  TablePlan table_;
  std::vector<UniqueKey> unique_keys_;
  std::vector<ForeignKey> foreign_keys_;
};

}  // namespace

Planned<TablePlan> plan_table(Connection& connection,
                              const Target& target,
                              const std::string& table) {
  return Planner(connection, target, table).plan();
}

// --- which there are ---

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
  return "a table pattern requires SELECT on all tables, because the server hides the others: "
         "GRANT SELECT ON " +
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
