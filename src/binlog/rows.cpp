#include "binlog/rows.h"

#include <algorithm>

#include "text/try.h"

namespace cuckooguard::binlog {

namespace {

bool bit_is_set(std::string_view bitmap, std::size_t index) {
  return (static_cast<unsigned char>(bitmap[index / 8]) >> (index % 8) & 1U) != 0;
}

std::expected<TextRule, DecodeError> integer_rule(const Column& column,
                                                  const ColumnChoice& choice) {
  const std::optional<bool> is_unsigned =
      column.is_unsigned ? column.is_unsigned : choice.is_unsigned;
  if (!is_unsigned) {
    return std::unexpected(DecodeError::signedness_unknown);
  }
  return TextRule{.form = *is_unsigned ? TextForm::unsigned_int : TextForm::signed_int};
}

std::expected<TextRule, DecodeError> string_rule(const Column& column, const ColumnChoice& choice) {
  std::optional<bool> is_binary = choice.is_binary;
  if (column.collation) {
    is_binary = *column.collation == Column::kBinaryCollation;
  }
  if (!is_binary) {
    return std::unexpected(DecodeError::charset_unknown);
  }
  return *is_binary ? TextRule{.form = TextForm::zero_padded, .length = column.shape.length}
                    : TextRule{.form = TextForm::bytes};
}

std::expected<TextRule, DecodeError> rule_of(const Column& column, const ColumnChoice& choice) {
  if (choice.is_null_only) {
    return TextRule{};
  }
  switch (column.shape.type) {
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int24:
    case ColumnType::int32:
    case ColumnType::int64:
      return integer_rule(column, choice);
    case ColumnType::varchar:
    case ColumnType::var_string:
    case ColumnType::tiny_blob:
    case ColumnType::medium_blob:
    case ColumnType::long_blob:
    case ColumnType::blob:
    case ColumnType::geometry:
    case ColumnType::float4:  // no text, but bytes to tell one row from another
    case ColumnType::float8:
      return TextRule{.form = TextForm::bytes};
    case ColumnType::string:
      return string_rule(column, choice);
    case ColumnType::decimal:
      return TextRule{
          .form = TextForm::decimal, .length = column.shape.length, .scale = column.shape.scale};
    case ColumnType::date:
    case ColumnType::new_date:
      return TextRule{.form = TextForm::date};
    case ColumnType::year:
      return TextRule{.form = TextForm::year};
    case ColumnType::datetime:
      return TextRule{.form = TextForm::datetime, .scale = column.shape.scale};
    case ColumnType::timestamp:
      return TextRule{.form = TextForm::timestamp, .scale = column.shape.scale};
    case ColumnType::time:
      return TextRule{.form = TextForm::time, .scale = column.shape.scale};
    case ColumnType::enumeration:
    case ColumnType::set:
      return TextRule{.form = TextForm::unsigned_int};
    case ColumnType::bit:
      return TextRule{.form = TextForm::big_endian};
    default:
      return std::unexpected(DecodeError::no_text_form);
  }
}

}  // namespace

std::expected<RowReader, DecodeError> RowReader::make(const TableLayout& layout,
                                                      std::span<const ColumnChoice> choices) {
  RowReader reader;
  for (const Column& column : layout.columns()) {
    reader.columns_.push_back({.storage = column.storage});
    reader.json_columns_ += column.shape.type == ColumnType::json ? 1 : 0;
  }
  for (const ColumnChoice& choice : choices) {
    if (choice.column >= reader.columns_.size() || reader.columns_[choice.column].choice >= 0) {
      return std::unexpected(DecodeError::no_such_column);
    }
    const auto rule = TRY(rule_of(layout.columns()[choice.column], choice));
    reader.columns_[choice.column].choice = static_cast<std::int32_t>(reader.rules_.size());
    reader.rules_.push_back(rule);
    reader.scratch_at_.push_back(reader.scratch_bytes_);
    reader.scratch_bytes_ += rule.scratch_bytes();
  }
  for (Image* image : {&reader.before_, &reader.after_}) {
    image->values.resize(reader.rules_.size());
    image->scratch.resize(reader.scratch_bytes_);
  }
  return reader;
}

std::expected<void, DecodeError> RowReader::open(const Rows& rows) {
  images_ = ByteCursor(rows.images);
  kind_ = rows.kind;
  is_partial_ = rows.is_partial;
  if (rows.table_id == Rows::kNoTable && rows.images.empty()) {
    return {};
  }
  if (rows.column_count != columns_.size()) {
    images_.fail();
    return std::unexpected(DecodeError::unknown_table);
  }
  std::ranges::fill(before_.values, Value{});
  std::ranges::fill(after_.values, Value{});
  if (kind_ != RowsKind::write) {
    prepare(before_, rows.before_columns);
  }
  if (kind_ != RowsKind::erase) {
    prepare(after_, rows.after_columns);
  }
  return {};
}

// `columns` has a bit for each column.
void RowReader::prepare(Image& image, std::string_view columns) const {
  if (image.is_known && image.columns == columns) {
    return;
  }
  image.columns.assign(columns);
  image.is_known = true;
  image.steps.clear();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (bit_is_set(columns, i)) {
      image.steps.push_back(columns_[i]);
    }
  }
}

std::expected<bool, DecodeError> RowReader::next() {
  if (!images_.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  const std::size_t left = images_.left();
  if (left == 0) {
    return false;
  }
  if (kind_ != RowsKind::write) {
    if (auto done = read(before_); !done) {
      images_.fail();
      return std::unexpected(done.error());
    }
  }
  if (kind_ != RowsKind::erase) {
    auto done = is_partial_ ? skip_partial_values() : std::expected<void, DecodeError>();
    if (done) {
      done = read(after_);
    }
    if (!done) {
      images_.fail();
      return std::unexpected(done.error());
    }
  }
  // A row of no columns takes no bytes: there would be no end to them.
  if (images_.left() == left) {
    images_.fail();
    return std::unexpected(DecodeError::malformed);
  }
  return true;
}

// Which values those are: a bit for each JSON column of the table, if there are any.
std::expected<void, DecodeError> RowReader::skip_partial_values() {
  constexpr std::uint64_t kPartialJson = 1;
  const std::uint64_t options = images_.length_encoded();
  if ((options & ~kPartialJson) != 0) {
    return std::unexpected(DecodeError::malformed);
  }
  if (options == kPartialJson) {
    images_.skip((json_columns_ + 7) / 8);
  }
  return images_.ok() ? std::expected<void, DecodeError>()
                      : std::unexpected(DecodeError::truncated);
}

std::expected<void, DecodeError> RowReader::read(Image& image) {
  const std::string_view nulls = images_.bytes((image.steps.size() + 7) / 8);
  if (!images_.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  for (std::size_t i = 0; i < image.steps.size(); ++i) {
    const Step& step = image.steps[i];
    const bool is_wanted = step.choice >= 0;
    if (bit_is_set(nulls, i)) {
      if (is_wanted) {
        image.values[static_cast<std::size_t>(step.choice)] = {.state = Value::State::null};
      }
      continue;
    }
    const std::uint64_t bytes = step.storage.prefix_bytes == 0
                                    ? step.storage.fixed_bytes
                                    : images_.integer(step.storage.prefix_bytes);
    const std::string_view value = images_.bytes(bytes);
    if (!images_.ok()) {
      return std::unexpected(DecodeError::truncated);
    }
    if (is_wanted) {
      TRY(write(image, static_cast<std::size_t>(step.choice), value));
    }
  }
  return {};
}

std::expected<void, DecodeError> RowReader::write(Image& image,
                                                  std::size_t choice,
                                                  std::string_view value) const {
  if (rules_[choice].form == TextForm::none) {
    image.values[choice] = {.state = Value::State::present};
    return {};
  }
  const auto text =
      TRY(write_text(rules_[choice], value, image.scratch.data() + scratch_at_[choice]));
  image.values[choice] = {.state = Value::State::present, .text = text};
  return {};
}

}  // namespace cuckooguard::binlog
