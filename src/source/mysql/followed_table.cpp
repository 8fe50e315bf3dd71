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

}  // namespace

std::expected<void, std::string> FollowedTable::map(const binlog::TableMap& map, bool is_mariadb) {
  if (layout_ && layout_->is_same(map)) {
    return {};
  }
  reader_.reset();
  auto layout = binlog::TableLayout::parse(map, is_mariadb);
  if (!layout) {
    return refusal("the log's description of table `" + plan().name + "`", layout.error());
  }
  if (auto good = check(*layout); !good) {
    return good;
  }
  std::vector<binlog::ColumnChoice> choices;
  for (const std::size_t column : needed()) {
    const MysqlColumn& planned = plan().columns[column];
    choices.push_back({.column = static_cast<std::uint32_t>(column),
                       .is_unsigned = planned.is_unsigned(),
                       .is_binary = planned.type() == MysqlType::bytes,
                       .is_null_only = plan().is_null_only(column)});
  }
  auto reader = binlog::RowReader::make(*layout, choices);
  if (!reader) {
    return refusal("a column of table `" + plan().name + "`", reader.error());
  }
  layout_ = *std::move(layout);
  reader_ = std::make_unique<binlog::RowReader>(*std::move(reader));
  return {};
}

// The log speaks of the table as it was planned.
std::expected<void, std::string> FollowedTable::check(const binlog::TableLayout& layout) const {
  const auto changed = [this](const std::string& how) {
    return std::unexpected("table `" + plan().name + "` has changed: " + how);
  };
  const std::size_t columns = plan().columns.size() + plan().hidden_columns;
  if (layout.columns().size() != columns) {
    return changed("it has " + std::to_string(layout.columns().size()) +
                   " columns in the log and " + std::to_string(columns) + " in the schema");
  }
  for (const std::size_t column : needed()) {
    const std::string_view name = layout.columns()[column].name;
    if (!name.empty() && name != plan().columns[column].name) {
      return changed("column " + std::to_string(column + 1) + " is `" + std::string(name) +
                     "` in the log and `" + plan().columns[column].name + "` in the schema");
    }
  }
  for (std::size_t column = 0; column < plan().columns.size(); ++column) {
    const bool is_read = std::ranges::find(needed(), column) != needed().end();
    if (const auto why =
            why_not_the_same(plan().columns[column], layout.columns()[column], is_read)) {
      return changed(*why);
    }
  }
  return {};
}

std::expected<void, std::string> FollowedTable::rows(const binlog::Rows& rows) {
  if (!reader_) {
    return std::unexpected("the log has rows of table `" + plan().name +
                           "` without its description");
  }
  if (const auto opened = reader_->open(rows); !opened) {
    return refusal("rows of table `" + plan().name + "`", opened.error());
  }
  for (;;) {
    const auto more = reader_->next();
    if (!more) {
      return refusal("a row of table `" + plan().name + "`", more.error());
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
  std::optional<RowValues> before;
  std::optional<RowValues> after;
  if (kind != RowsKind::write) {
    const auto values = read(false, before_);
    if (!values) {
      return std::unexpected(values.error());
    }
    before = *values;
  }
  if (kind != RowsKind::erase) {
    const auto values = read(true, after_);
    if (!values) {
      return std::unexpected(values.error());
    }
    after = *values;
  }
  return change(before, after);
}

// A column that is absent after an update has not changed.
std::expected<RowValues, std::string> FollowedTable::read(bool is_after, Values& values) {
  values.clear();
  UuidTexts& texts = uuid_texts_.at(is_after ? 1 : 0);
  texts.resize(plan().uuids.empty() ? 0 : needed().size());
  for (std::size_t i = 0; i < needed().size(); ++i) {
    const Value* value = is_after ? &reader_->after(i) : &reader_->before(i);
    if (is_after && value->state == Value::State::absent) {
      value = &reader_->before(i);
    }
    if (value->state == Value::State::absent) {
      return std::unexpected("the log has rows of table `" + plan().name + "` without column `" +
                             plan().columns[needed()[i]].name +
                             "`: SET GLOBAL binlog_row_image = FULL, in all sessions");
    }
    if (value->state == Value::State::null) {
      values.emplace_back();
    } else if (plan().is_uuid(needed()[i])) {
      values.emplace_back(write_uuid(value->text, plan().uuid_order, texts[i]));
    } else {
      values.emplace_back(value->text);
    }
  }
  return values;
}

}  // namespace cuckooguard::source
