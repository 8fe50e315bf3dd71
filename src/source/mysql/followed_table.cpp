#include "mysql/followed_table.h"

#include <algorithm>
#include <utility>

#include "mysql/logged_column.h"

namespace cuckooguard::source {
namespace {

using binlog::RowsKind;
using binlog::Value;

std::unexpected<std::string> refusal(std::string_view what, binlog::DecodeError error) {
  return std::unexpected(std::string(what) + ": " + std::string(binlog::describe(error)));
}

void append_key_value(std::string& key, std::string_view value) {
  const auto bytes = static_cast<std::uint32_t>(value.size());
  key.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  key.append(value);
}

}  // namespace

FollowedTable::FollowedTable(const MysqlTable& plan, RowTarget& target)
    : plan_(&plan),
      target_(&target),
      needed_(plan.needed()),
      name_low_(filter::random_secret()),
      name_high_(filter::random_secret()) {
  for (const std::size_t column : plan.primary_key) {
    key_places_.push_back(
        static_cast<std::size_t>(std::ranges::find(needed_, column) - needed_.begin()));
  }
}

std::expected<void, std::string> FollowedTable::map(const binlog::TableMap& map, bool is_mariadb) {
  if (layout_ && layout_->is_same(map)) {
    return {};
  }
  reader_.reset();
  auto layout = binlog::TableLayout::parse(map, is_mariadb);
  if (!layout) {
    return refusal("the log's description of table `" + plan_->name + "`", layout.error());
  }
  if (auto good = check(*layout); !good) {
    return good;
  }
  std::vector<binlog::ColumnChoice> choices;
  for (const std::size_t column : needed_) {
    const MysqlColumn& planned = plan_->columns[column];
    choices.push_back({.column = static_cast<std::uint32_t>(column),
                       .is_unsigned = planned.is_unsigned(),
                       .is_binary = planned.type() == MysqlType::bytes,
                       .is_null_only = plan_->is_null_only(column)});
  }
  auto reader = binlog::RowReader::make(*layout, choices);
  if (!reader) {
    return refusal("a column of table `" + plan_->name + "`", reader.error());
  }
  layout_ = *std::move(layout);
  reader_ = std::make_unique<binlog::RowReader>(*std::move(reader));
  return {};
}

// The log speaks of the table as it was planned.
std::expected<void, std::string> FollowedTable::check(const binlog::TableLayout& layout) const {
  const auto changed = [this](const std::string& how) {
    return std::unexpected("table `" + plan_->name + "` has changed: " + how);
  };
  const std::size_t columns = plan_->columns.size() + plan_->hidden_columns;
  if (layout.columns().size() != columns) {
    return changed("it has " + std::to_string(layout.columns().size()) +
                   " columns in the log and " + std::to_string(columns) + " in the schema");
  }
  for (const std::size_t column : needed_) {
    const std::string_view name = layout.columns()[column].name;
    if (!name.empty() && name != plan_->columns[column].name) {
      return changed("column " + std::to_string(column + 1) + " is `" + std::string(name) +
                     "` in the log and `" + plan_->columns[column].name + "` in the schema");
    }
  }
  for (std::size_t column = 0; column < plan_->columns.size(); ++column) {
    const bool is_read = std::ranges::find(needed_, column) != needed_.end();
    if (const auto why =
            why_not_the_same(plan_->columns[column], layout.columns()[column], is_read)) {
      return changed(*why);
    }
  }
  return {};
}

std::expected<void, std::string> FollowedTable::rows(const binlog::Rows& rows) {
  if (!reader_) {
    return std::unexpected("the log has rows of table `" + plan_->name +
                           "` without its description");
  }
  if (const auto opened = reader_->open(rows); !opened) {
    return refusal("rows of table `" + plan_->name + "`", opened.error());
  }
  for (;;) {
    const auto more = reader_->next();
    if (!more) {
      return refusal("a row of table `" + plan_->name + "`", more.error());
    }
    if (!*more) {
      return {};
    }
    if (auto added = add_row(rows.kind); !added) {
      return added;
    }
  }
}

std::expected<void, std::string> FollowedTable::add_row(RowsKind kind) {
  std::expected<Transaction::Image, std::string> before{std::nullopt};
  std::expected<Transaction::Image, std::string> after{std::nullopt};
  if (kind != RowsKind::write) {
    before = image(false);
  }
  if (before && kind != RowsKind::erase) {
    after = image(true);
  }
  if (!before || !after) {
    return std::unexpected(before ? after.error() : before.error());
  }
  bool is_good = false;
  if (kind == RowsKind::update) {
    const RowName from = name(false);
    const RowName to = name(true);
    if (from == to && *before == *after) {
      return {};  // other columns have changed
    }
    is_good = from == to ? transaction_.add(from, *before, *after)
                         : transaction_.add(from, *before, std::nullopt) &&
                               transaction_.add(to, std::nullopt, *after);
  } else {
    is_good = transaction_.add(name(kind == RowsKind::write), *before, *after);
  }
  if (!is_good) {
    return std::unexpected("a transaction changes rows of table `" + plan_->name +
                           "` that are not as the log left them, or more than " +
                           std::to_string(kTransactionRowsMax));
  }
  return {};
}

// A column that is absent after an update has not changed.
std::expected<Transaction::Image, std::string> FollowedTable::image(bool is_after) {
  values_.clear();
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    const Value* value = is_after ? &reader_->after(i) : &reader_->before(i);
    if (is_after && value->state == Value::State::absent) {
      value = &reader_->before(i);
    }
    if (value->state == Value::State::absent) {
      return std::unexpected("the log has rows of table `" + plan_->name + "` without column `" +
                             plan_->columns[needed_[i]].name +
                             "`: SET GLOBAL binlog_row_image = FULL, in all sessions");
    }
    values_.push_back(value->state == Value::State::null ? std::nullopt
                                                         : std::optional(value->text));
  }
  return target_->image(values_);
}

RowName FollowedTable::name(bool is_after) {
  key_.clear();
  for (const std::size_t place : key_places_) {
    const Value* value = is_after ? &reader_->after(place) : &reader_->before(place);
    if (is_after && value->state == Value::State::absent) {
      value = &reader_->before(place);
    }
    append_key_value(key_, value->text);
  }
  return name_of_key(key_);
}

RowName FollowedTable::name_of(RowValues values) const {
  std::string key;
  for (const std::size_t place : key_places_) {
    append_key_value(key, values[place].value_or(std::string_view()));
  }
  return name_of_key(key);
}

RowName FollowedTable::name_of_key(std::string_view key) const {
  return {.low = name_low_(key), .high = name_high_(key)};
}

std::expected<void, std::string> FollowedTable::commit_erases(const CommitMark& mark) {
  auto erased = target_->erase(mark, transaction_);
  transaction_.clear();
  return erased;
}

Transaction FollowedTable::park() {
  transaction_.seal();
  return std::exchange(transaction_, Transaction(kTransactionRowsMax));
}

}  // namespace cuckooguard::source
