#include "sqlite/table.h"

#include <algorithm>
#include <utility>

#include "config/nearest.h"
#include "config/table_pattern.h"
#include "keyspace/canonical_text.h"
#include "source/uuid_bytes.h"
#include "text/ascii.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {

namespace {

using text::upper_case;

std::string subject_of(const Column& column) {
  return "column \"" + column.name + "\" of table \"" + column.table + "\" ";
}

}  // namespace

bool Column::has_bytes() const {
  const std::string type = upper_case(declared_type);
  return type.contains("BLOB") || type.contains("BINARY");
}

// The five rules of datatype3.html, in their order.
Affinity affinity_of(std::string_view declared_type, bool strict) {
  const std::string type = upper_case(declared_type);
  const auto mentions = [&type](std::string_view word) {
    return type.find(word) != std::string::npos;
  };
  if (mentions("INT")) {
    return Affinity::integer;
  }
  if (mentions("CHAR") || mentions("CLOB") || mentions("TEXT")) {
    return Affinity::text;
  }
  if (type.empty() || mentions("BLOB") || (strict && type == "ANY")) {
    return Affinity::blob;
  }
  if (mentions("REAL") || mentions("FLOA") || mentions("DOUB")) {
    return Affinity::real;
  }
  return Affinity::numeric;
}

std::optional<std::string> ambiguous(const Column& column,
                                     const keyspace::Placeholder& placeholder) {
  using keyspace::ValueType;
  const std::string subject = subject_of(column);
  if (column.affinity == Affinity::real) {
    return subject + "is " + column.declared_type +
           ": a floating point number has no canonical text; use an INTEGER or TEXT column";
  }
  if (placeholder.is_integer()) {
    return std::nullopt;  // only canonical integers are guarded, and equal whatever compares them
  }
  if (column.affinity == Affinity::integer) {
    return subject + "is " + column.declared_type +
           ", so SQL compares it as a number (007 finds 7), but {" + placeholder.name +
           "} compares bytes; write {" + placeholder.name + ":uint64} or {" + placeholder.name +
           ":int64}";
  }
  if (upper_case(column.declared_type) == "BINARY(16)") {
    if (const auto why = why_not_text(placeholder)) {
      return subject + *why;
    }
  }
  const std::string& collation = column.collation;
  if (collation == "BINARY") {
    return std::nullopt;
  }
  if (collation != "NOCASE" && collation != "RTRIM") {
    return subject + "has the collation " + collation +
           ", in which different bytes can be equal; only BINARY, NOCASE and RTRIM are supported";
  }
  if (placeholder.type == ValueType::text_ci) {
    return std::nullopt;
  }
  return subject + "has the collation " + collation +
         ", in which different bytes can be equal; write {" + placeholder.name +
         (placeholder.rest ? ":rest" : "") + "|ci}";
}

std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use) {
  if (!use.compares()) {
    return std::nullopt;
  }
  const std::string subject = subject_of(column);
  switch (column.affinity) {
    case Affinity::integer:
    case Affinity::numeric:
      for (const std::string_view literal : use.literals) {
        if (!keyspace::canonical_int64(literal)) {
          return subject + "is " + column.declared_type +
                 ", so SQL compares it as a number, but '" + std::string(literal) +
                 "' is not written as SQLite prints numbers; write it that way, or use a TEXT "
                 "column";
        }
      }
      return std::nullopt;
    case Affinity::text:
      if (column.collation != "BINARY" && !use.only_excludes) {
        return subject + "has the collation " + column.collation +
               ", in which different bytes can be equal; a condition can test it only with <>, IS "
               "NULL or IS NOT NULL";
      }
      return std::nullopt;
    case Affinity::real:
    case Affinity::blob:
      break;
  }
  return subject + "is " + (column.declared_type.empty() ? "of no type" : column.declared_type) +
         ", whose values have no unambiguous text; use an INTEGER or TEXT column, or test IS NULL "
         "or IS NOT NULL";
}

namespace {

struct Table {
  std::string name;
  std::string kind;  // table, view, virtual, shadow
  bool without_rowid = false;
  bool strict = false;
};

Planned<Table> find_table(const Database& database, const std::string& wanted) {
  std::vector<std::string> names;
  std::optional<Table> found;
  TRY(each_row(database,
               "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND "
               "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
               "",
               [&](const Statement& row) {
                 names.emplace_back(row.bytes(0));
                 if (text::equals_in_any_case(names.back(), wanted)) {
                   found = Table{.name = names.back(),
                                 .kind = std::string(row.bytes(1)),
                                 .without_rowid = row.integer(2) != 0,
                                 .strict = row.integer(3) != 0};
                 }
               }));
  if (!found) {
    return std::unexpected("no such table: \"" + wanted + "\"" +
                           config::suggestion(wanted, names, std::identity()));
  }
  if (found->kind == "view") {
    return std::unexpected(
        "\"" + wanted +
        "\" is a view, whose columns have no type or collation to check; use its underlying table");
  }
  if (found->kind != "table") {
    return std::unexpected("\"" + wanted + "\" is a " + found->kind +
                           " table, whose rows can change without a commit that SQLite reports; "
                           "use an ordinary table");
  }
  return *found;
}

// A column that is an alias of the rowid is the one kind of primary key without an index of its
// own.
Planned<bool> is_rowid_alias(const Database& database,
                             const Table& table,
                             const std::vector<Column>& columns,
                             const Column& column) {
  const auto keys =
      std::ranges::count_if(columns, [](const Column& any) { return any.primary_key != 0; });
  if (table.without_rowid || column.primary_key == 0 || keys != 1 ||
      upper_case(column.declared_type) != "INTEGER") {
    return false;
  }
  bool has_index = false;  // INTEGER PRIMARY KEY DESC has one (lang_createtable.html 5)
  TRY(each_row(database,
               "SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk'",
               table.name,
               [&has_index](const Statement&) { has_index = true; }));
  return !has_index;
}

const keyspace::Placeholder& placeholder_named(const Target& target, std::string_view name) {
  const auto placeholders = target.keyspace.templates(target.ns).front().placeholders();
  return *std::ranges::find(placeholders, name, &keyspace::Placeholder::name);
}

struct Selection {
  const Target& target;
  const Table& table;
  const std::vector<Column>& columns;
};

Planned<const Column*> column_named(const std::vector<Column>& columns,
                                    const Table& table,
                                    const std::string& wanted) {
  const auto column = std::ranges::find_if(
      columns, [&wanted](const Column& any) { return text::equals_in_any_case(any.name, wanted); });
  if (column == columns.end()) {
    return std::unexpected("table \"" + table.name + "\" has no column \"" + wanted + "\"" +
                           config::suggestion(wanted, columns, &Column::name));
  }
  return &*column;
}

Planned<const Column*> choose_column(const Selection& from, const std::string& placeholder) {
  auto column =
      column_named(from.columns, from.table, from.target.settings.source.column_of(placeholder));
  if (column) {
    if (auto why = ambiguous(**column, placeholder_named(from.target, placeholder))) {
      return std::unexpected(*std::move(why));
    }
  }
  return column;
}

Planned<void> choose_condition(const Selection& from, TablePlan& plan) {
  using Form = ConditionColumn::Form;
  plan.condition = from.target.settings.source.where;
  for (const std::string& name : plan.condition.columns()) {
    const auto column = TRY(column_named(from.columns, from.table, name));
    const auto use = plan.condition.use_of(plan.condition_columns.size());
    if (auto why = undecidable(*column, use)) {
      return std::unexpected("where: " + *why);
    }
    const bool is_text = column->affinity == Affinity::text;
    plan.condition_columns.push_back(
        {.name = column->name,
         .form = !use.compares() ? Form::null_only : (is_text ? Form::text : Form::integer)});
  }
  return {};
}

Planned<std::vector<Column>> columns_of(const Database& database, const Table& table) {
  std::vector<Column> columns;
  TRY(each_row(database,
               "SELECT name, type, pk FROM pragma_table_xinfo(?1)",
               table.name,
               [&](const Statement& row) {
                 columns.push_back({.table = table.name,
                                    .name = std::string(row.bytes(0)),
                                    .declared_type = std::string(row.bytes(1)),
                                    .collation = "",
                                    .primary_key = static_cast<int>(row.integer(2))});
               }));
  for (Column& column : columns) {
    column.affinity = affinity_of(column.declared_type, table.strict);
    column.collation = upper_case(database.collation(table.name, column.name).value_or(""));
  }
  return columns;
}

}  // namespace

std::string TablePlan::select_sql() const {
  std::string list;
  for (const PlannedColumn& column : columns) {
    list += (list.empty() ? "" : ", ") + quoted_identifier(column.name);
  }
  for (const ConditionColumn& column : condition_columns) {
    list += ", " + quoted_identifier(column.name);
  }
  return "SELECT " + list + " FROM main." + quoted_identifier(table);
}

std::string TablePlan::count_sql() const {
  return "SELECT count(*) FROM main." + quoted_identifier(table);
}

std::string TablePlan::largest_id_sql() const {
  return is_autoincrement ? "SELECT seq FROM sqlite_sequence WHERE name = ?1"
                          : "SELECT max(" + quoted_identifier(columns.front().name) +
                                ") FROM main." + quoted_identifier(table);
}

Planned<TablePlan> plan_table(const Database& database,
                              const Target& target,
                              const std::string& wanted) {
  const auto table = TRY(find_table(database, wanted));
  const auto columns = TRY(columns_of(database, table));
  const Selection from{.target = target, .table = table, .columns = columns};
  TablePlan plan{.table = table.name, .columns = {}, .uuid_order = target.settings.source.uuids};
  const Column* last = nullptr;
  for (const std::string& placeholder : target.keyspace.identity_columns(target.ns)) {
    last = TRY(choose_column(from, placeholder));
    const keyspace::Placeholder& named = placeholder_named(target, placeholder);
    const bool is_uuid = named.type == keyspace::ValueType::uuid && last->has_bytes();
    plan.columns.push_back(
        {.name = last->name,
         .text_only = !named.is_integer() && !is_uuid && last->affinity == Affinity::numeric,
         .is_key_text = !named.is_integer() && !named.rest,
         .is_uuid = is_uuid});
  }
  TRY(choose_condition(from, plan));
  if (target.keyspace.identity_is_integer(target.ns) && last != nullptr) {
    const auto grows = TRY(is_rowid_alias(database, table, columns, *last));
    plan.grows = grows;
    plan.is_autoincrement = grows && database.is_autoincrement(table.name, last->name);
  }
  return plan;
}

Expected<std::vector<std::string>> list_tables(const Database& database,
                                               std::span<const std::string> wanted) {
  using config::NameCase;
  std::vector<std::string> tables;
  TRY(each_row(
      database,
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT "
      "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      "",
      [&](const Statement& row) {
        if (config::matches_any_table(wanted, row.bytes(0), NameCase::ignored)) {
          tables.emplace_back(row.bytes(0));
        }
      }));
  config::add_missing_names(wanted, NameCase::ignored, tables);
  return tables;
}

Expected<std::vector<KeyedTable>> list_keyed_tables(const Database& database) {
  std::vector<KeyedTable> tables;
  TRY(each_row(
      database,
      "SELECT t.name, c.name, c.type, t.strict, c.pk FROM pragma_table_list t, "
      "pragma_table_xinfo(t.name) c WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT "
      "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.pk",
      "",
      [&](const Statement& row) {
        if (tables.empty() || tables.back().name != row.bytes(0)) {
          tables.push_back({.name = std::string(row.bytes(0)), .primary_key = {}});
        }
        if (row.integer(4) == 0) {
          return;
        }
        Column column{.table = std::string(row.bytes(0)),
                      .name = std::string(row.bytes(1)),
                      .declared_type = std::string(row.bytes(2)),
                      .collation = ""};
        column.affinity = affinity_of(column.declared_type, row.integer(3) != 0);
        column.collation = upper_case(database.collation(column.table, column.name).value_or(""));
        tables.back().primary_key.push_back(column.affinity == Affinity::integer
                                                ? placeholder_for(column, {":int64"})
                                                : placeholder_for(column, {"", "|ci", ":uuid"}));
      }));
  return tables;
}

}  // namespace cuckooguard::source::sqlite
