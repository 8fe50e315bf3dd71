#include "source/sqlite_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "config/nearest.h"

namespace cuckooguard::source {
namespace {

enum class Affinity : std::uint8_t { integer, text, blob, real, numeric };

struct Column {
  std::string name;
  std::string declared_type;
  int primary_key = 0;  // place in the primary key, from 1; 0: not part of it
};

struct Table {
  std::string name;
  std::string kind;  // table, view, virtual, shadow
  bool without_rowid = false;
  bool strict = false;
};

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char byte) {
    return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - ('a' - 'A')) : byte;
  });
  return result;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// The five rules of datatype3.html, in their order.
Affinity affinity_of(const Column& column, bool strict) {
  const std::string type = upper(column.declared_type);
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

// Every row of `sql` (one name bound, if not empty) through `take`.
template <typename Take>
std::expected<void, TableTrouble> each_row(const SqliteDatabase& database,
                                           std::string_view sql,
                                           const std::string& name,
                                           Take take) {
  auto statement = database.prepare(sql);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  if (!name.empty()) {
    statement->bind(1, name);
  }
  for (;;) {
    const auto row = statement->step();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (!*row) {
      return {};
    }
    take(*statement);
  }
}

std::expected<Table, TableTrouble> find_table(const SqliteDatabase& database,
                                              const std::string& wanted) {
  std::vector<std::string> names;
  std::optional<Table> found;
  const auto read =
      each_row(database,
               "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND "
               "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
               "",
               [&](const SqliteStatement& row) {
                 names.emplace_back(row.bytes(0));
                 if (upper(names.back()) == upper(wanted)) {
                   found = Table{.name = names.back(),
                                 .kind = std::string(row.bytes(1)),
                                 .without_rowid = row.integer(2) != 0,
                                 .strict = row.integer(3) != 0};
                 }
               });
  if (!read) {
    return std::unexpected(read.error());
  }
  if (!found) {
    return std::unexpected("there is no table \"" + wanted + "\"" +
                           config::suggestion(wanted, views_of(names)));
  }
  if (found->kind == "view") {
    return std::unexpected("\"" + wanted +
                           "\" is a view, whose columns have no type or collation "
                           "that could be checked; name the table behind it");
  }
  if (found->kind != "table") {
    return std::unexpected("\"" + wanted + "\" is a " + found->kind +
                           " table, whose rows can change "
                           "without a commit that SQLite tells of; name an ordinary table");
  }
  return *found;
}

// A column that is an alias of the rowid is the one kind of primary key without an index of its own.
std::expected<bool, TableTrouble> is_rowid_alias(const SqliteDatabase& database,
                                                 const Table& table,
                                                 const std::vector<Column>& columns,
                                                 const Column& column) {
  const auto keys =
      std::ranges::count_if(columns, [](const Column& any) { return any.primary_key != 0; });
  if (table.without_rowid || column.primary_key == 0 || keys != 1 ||
      upper(column.declared_type) != "INTEGER") {
    return false;
  }
  bool has_index = false;  // INTEGER PRIMARY KEY DESC has one (lang_createtable.html 5)
  const auto read = each_row(database,
                             "SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk'",
                             table.name,
                             [&has_index](const SqliteStatement&) { has_index = true; });
  if (!read) {
    return std::unexpected(read.error());
  }
  return !has_index;
}

const keyspace::Placeholder& placeholder_named(const Target& target, std::string_view name) {
  const auto placeholders = target.keyspace.templates(target.ns).front().placeholders();
  return *std::ranges::find(placeholders, name, &keyspace::Placeholder::name);
}

bool is_number(const keyspace::Placeholder& placeholder) {
  using keyspace::ValueType;
  return placeholder.type == ValueType::uint64 || placeholder.type == ValueType::int64;
}

// Why lookups by this placeholder could find rows in the database that the filter has under other bytes.
std::optional<std::string> objection(const SqliteDatabase& database,
                                     const Table& table,
                                     const Column& column,
                                     const keyspace::Placeholder& placeholder) {
  using keyspace::ValueType;
  const Affinity affinity = affinity_of(column, table.strict);
  const std::string subject = "column \"" + column.name + "\" of table \"" + table.name + "\" ";
  if (affinity == Affinity::real) {
    return subject + "is " + column.declared_type +
           ": a floating point number has no canonical text; use an INTEGER or TEXT column";
  }
  if (is_number(placeholder)) {
    return std::nullopt;  // only canonical integers are guarded, and equal whatever compares them
  }
  if (affinity == Affinity::integer) {
    return subject + "is " + column.declared_type +
           ", so SQL compares it as a number (007 finds 7) while {" + placeholder.name +
           "} compares bytes; write {" + placeholder.name + ":uint64} or {" + placeholder.name +
           ":int64}";
  }
  const std::string collation = upper(database.collation(table.name, column.name).value_or(""));
  if (collation == "BINARY") {
    return std::nullopt;
  }
  if (collation != "NOCASE" && collation != "RTRIM") {
    return subject + "has the collation " + collation +
           ", by which different bytes can be equal; only BINARY, NOCASE and RTRIM are understood";
  }
  if (placeholder.type == ValueType::text_ci) {
    return std::nullopt;
  }
  return subject + "has the collation " + collation +
         ", by which different bytes can be equal; write {" + placeholder.name +
         (placeholder.rest ? ":rest" : "") + "|ci}";
}

struct Selection {
  const SqliteDatabase& database;
  const Target& target;
  const Table& table;
  const std::vector<Column>& columns;
};

std::expected<const Column*, TableTrouble> choose_column(const Selection& from,
                                                         const std::string& placeholder) {
  const auto& names = from.target.settings.source.columns;
  const auto renamed = names.find(placeholder);
  const std::string& wanted = renamed == names.end() ? placeholder : renamed->second;
  const auto column = std::ranges::find_if(
      from.columns, [&wanted](const Column& any) { return upper(any.name) == upper(wanted); });
  if (column == from.columns.end()) {
    std::vector<std::string_view> known;
    std::ranges::transform(from.columns, std::back_inserter(known), &Column::name);
    return std::unexpected("table \"" + from.table.name + "\" has no column \"" + wanted + "\"" +
                           config::suggestion(wanted, known));
  }
  if (auto why = objection(
          from.database, from.table, *column, placeholder_named(from.target, placeholder))) {
    return std::unexpected(*std::move(why));
  }
  return &*column;
}

std::expected<std::vector<Column>, TableTrouble> columns_of(const SqliteDatabase& database,
                                                            const Table& table) {
  std::vector<Column> columns;
  const auto read = each_row(database,
                             "SELECT name, type, pk FROM pragma_table_xinfo(?1)",
                             table.name,
                             [&columns](const SqliteStatement& row) {
                               columns.push_back({.name = std::string(row.bytes(0)),
                                                  .declared_type = std::string(row.bytes(1)),
                                                  .primary_key = static_cast<int>(row.integer(2))});
                             });
  if (!read) {
    return std::unexpected(read.error());
  }
  return columns;
}

}  // namespace

std::string TablePlan::select_sql() const {
  std::string list;
  for (const PlannedColumn& column : columns) {
    list += (list.empty() ? "" : ", ") + quoted_identifier(column.name);
  }
  return "SELECT " + list + " FROM main." + quoted_identifier(table);
}

std::string TablePlan::count_sql() const {
  return "SELECT count(*) FROM main." + quoted_identifier(table);
}

std::expected<TablePlan, TableTrouble> plan_table(const SqliteDatabase& database,
                                                  const Target& target,
                                                  const std::string& wanted) {
  const auto table = find_table(database, wanted);
  if (!table) {
    return std::unexpected(table.error());
  }
  const auto columns = columns_of(database, *table);
  if (!columns) {
    return std::unexpected(columns.error());
  }
  const Selection from{
      .database = database, .target = target, .table = *table, .columns = *columns};
  TablePlan plan{.table = table->name, .columns = {}};
  const Column* last = nullptr;
  for (const std::string& placeholder : target.keyspace.identity_columns(target.ns)) {
    const auto column = choose_column(from, placeholder);
    if (!column) {
      return std::unexpected(column.error());
    }
    last = *column;
    const bool is_text = !is_number(placeholder_named(target, placeholder));
    plan.columns.push_back(
        {.name = last->name,
         .text_only = is_text && affinity_of(*last, table->strict) == Affinity::numeric});
  }
  if (target.keyspace.identity_is_integer(target.ns) && last != nullptr) {
    const auto grows = is_rowid_alias(database, *table, *columns, *last);
    if (!grows) {
      return std::unexpected(grows.error());
    }
    plan.grows = *grows;
    plan.is_autoincrement = *grows && database.is_autoincrement(table->name, last->name);
  }
  return plan;
}

}  // namespace cuckooguard::source
