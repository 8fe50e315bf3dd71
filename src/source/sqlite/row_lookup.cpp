#include <span>
#include <string>

#include "keyspace/identity.h"
#include "source/uuid_bytes.h"
#include "sqlite/database.h"
#include "sqlite/kind.h"
#include "sqlite/rows.h"
#include "sqlite/table.h"
#include "sqlite/tables.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {
namespace {

// A column without a type keeps each value as it was given, and finds it as that alone: so it is
// asked for all three.
std::string where_sql(const TablePlan& plan, std::span<const std::string_view> values) {
  std::string sql;
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const std::string value = "?" + std::to_string(i + 1);
    sql.append(i == 0 ? " WHERE " : " AND ").append(quoted_identifier(plan.columns[i].name));
    if (plan.columns[i].is_uuid) {
      sql.append(" = X'").append(hex_of_uuid(values[i], plan.uuid_order)).append("'");
      continue;
    }
    sql.append(" IN (").append(value).append(", CAST(").append(value);
    sql.append(" AS BLOB), CAST(").append(value).append(" AS INTEGER))");
  }
  return sql + " LIMIT " + std::to_string(RowLookup::kRowsMax);
}

class DatabaseRowLookup final : public RowLookup {
 public:
  DatabaseRowLookup(std::string path, std::vector<Target> targets)
      : RowLookup(std::move(targets)), path_(std::move(path)) {}

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    const auto database = TRY(in_words(Database::open_read_only(path_)));
    const std::stop_callback wake(stop, [&database] { database.interrupt(); });
    TRY(in_words(database.run("BEGIN")));
    const auto tables = TRY(in_words(list_tables(database, target.settings.source.tables)));
    for (const std::string& table : tables) {
      const Has has = table_has(database, target, table, identity);
      if (!has || *has) {
        return has;
      }
    }
    return false;
  }

  Has table_has(const Database& database,
                const Target& target,
                const std::string& table,
                std::string_view identity) {
    const auto plan = TRY(in_words(plan_table(database, target, table)));
    const auto values = keyspace::values_of_identity(identity, plan.columns.size());
    auto statement = TRY(in_words(database.prepare(plan.select_sql() + where_sql(plan, values))));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!plan.columns[i].is_uuid) {
        statement.bind(static_cast<int>(i) + 1, values[i]);
      }
    }
    Row row(plan);
    for (std::size_t seen = 0; seen < kRowsMax; ++seen) {
      const auto has_row = TRY(in_words(statement.step()));
      if (!has_row) {
        return false;
      }
      if (row.read(statement) && row.counts() && is_it(target, row.values(), identity)) {
        return true;
      }
    }
    return std::unexpected("too many rows are equal to it");
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<RowLookup> make_row_lookup(std::string path, std::vector<Target> targets) {
  return std::make_unique<DatabaseRowLookup>(std::move(path), std::move(targets));
}

}  // namespace cuckooguard::source::sqlite
