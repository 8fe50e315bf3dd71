#include "mysql/table.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "config/nearest.h"
#include "keyspace/identity.h"
#include "mysql/foreign_keys.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr std::string_view kUniqueKeysSql =
    "SELECT index_name, column_name, index_type FROM information_schema.statistics WHERE "
    "table_schema = DATABASE() AND non_unique = 0 AND table_name = '";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), keyspace::fold);
  return result;
}

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
        return std::unexpected("`" + table_.name + "` is no table but a " +
                               lower(row[1].value_or("thing")) +
                               ", which the log does not know; name the table behind it");
      }
      if (row[2] != "InnoDB") {
        return std::unexpected("`" + table_.name + "` has the engine " + row[2].value_or("?") +
                               ", without consistent reads: ALTER TABLE " +
                               quoted_name(table_.name) + " ENGINE = InnoDB");
      }
      return {};
    }
    return no_table();
  }

  Planned<void> no_table() {
    const auto tables = TRY(connection_.ask(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"));
    std::vector<std::string_view> names;
    for (const auto& row : tables) {
      const std::optional<std::string>& name = row[0];
      names.emplace_back(name ? std::string_view(*name) : std::string_view{});
    }
    return std::unexpected("there is no table `" + wanted_ + "`, or no right to SELECT from it" +
                           config::suggestion(wanted_, names));
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
                    .data_type = lower(row[1].value_or("")),
                    .column_type = lower(row[2].value_or("")),
                    .charset = row[3].value_or(""),
                    .collation = row[4].value_or("")};
      column.ordinal = table_.columns.size();
      column.nullable = row[5] != "NO";
      const std::string extra = lower(row[6].value_or(""));
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
          "` has no primary key, so that the log does not say which row has changed; add one");
    }
    table_.key_is_readable = std::ranges::none_of(table_.primary_key, [this](std::size_t place) {
      return key_text(table_.columns[place]) == KeyText::none;
    });
    return {};
  }

  std::expected<std::size_t, std::string> column_named(const std::string& wanted) const {
    const auto column = std::ranges::find_if(
        table_.columns, [&wanted](const Column& any) { return lower(any.name) == lower(wanted); });
    if (column == table_.columns.end()) {
      std::vector<std::string_view> names;
      names.reserve(table_.columns.size());
      for (const Column& any : table_.columns) {
        names.emplace_back(any.name);
      }
      return std::unexpected("table `" + table_.name + "` has no column `" + wanted + "`" +
                             config::suggestion(wanted, names));
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
                               "` has UUIDs in 16 bytes, which a condition does not compare");
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
        "the server logs rows without columns that did not change (binlog_row_image = " +
        image.value_or("") + "), and of table `" + table_.name +
        "` others than the primary key are needed: SET GLOBAL binlog_row_image = FULL");
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

}  // namespace cuckooguard::source::mysql
