#include "binlog/table_layout.h"

#include "binlog/event_bodies.h"
#include "text/try.h"

namespace cuckooguard::binlog {

namespace {

// Fields behind the columns: type, length, value. Those that are not listed are of no use here.
enum class Detail : std::uint8_t {
  signedness = 1,
  default_collation = 2,
  collations = 3,
  names = 4,
  primary_key = 8,
  primary_key_with_prefixes = 9,
};

bool bit_is_set(std::string_view bitmap, std::size_t index) {
  return (static_cast<unsigned char>(bitmap[index / 8]) >> (index % 8) & 1U) != 0;
}

// In the bitmap of signedness, and only there, the first column has the highest bit.
bool high_bit_is_set(std::string_view bitmap, std::size_t index) {
  return (static_cast<unsigned char>(bitmap[index / 8]) >> (7 - index % 8) & 1U) != 0;
}

bool is_old_temporal(ColumnType type) {
  return type == ColumnType::timestamp_old || type == ColumnType::datetime_old ||
         type == ColumnType::time_old;
}

}  // namespace

std::expected<TableLayout, DecodeError> TableLayout::parse(const TableMap& map, bool is_mariadb) {
  TableLayout layout;
  layout.bytes_.assign(map.body.begin(), map.body.end());
  TRY(layout.read(is_mariadb));
  return layout;
}

std::expected<void, DecodeError> TableLayout::read(bool is_mariadb) {
  ByteCursor cursor(body());
  schema_ = cursor.length_encoded_text();
  cursor.skip(1);  // its NUL
  table_ = cursor.length_encoded_text();
  cursor.skip(1);
  TRY(read_columns(cursor, is_mariadb));
  return read_details(cursor, is_mariadb);
}

std::expected<void, DecodeError> TableLayout::read_columns(ByteCursor& cursor, bool is_mariadb) {
  const std::uint64_t count = cursor.length_encoded();
  if (count > kColumnsMax) {
    return std::unexpected(DecodeError::malformed);
  }
  const std::string_view types = cursor.bytes(count);
  ByteCursor metadata(cursor.length_encoded_text());
  const std::string_view nullable = cursor.bytes((count + 7) / 8);
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  columns_.resize(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = static_cast<ColumnType>(types[i]);
    const auto width = metadata_bytes(type);
    if (!width) {
      return std::unexpected(DecodeError::malformed);
    }
    if (is_mariadb && is_old_temporal(type)) {
      return std::unexpected(DecodeError::old_temporal);
    }
    const auto column = resolve_column(type, static_cast<std::uint16_t>(metadata.integer(*width)));
    if (!column) {
      return std::unexpected(DecodeError::malformed);
    }
    columns_[i].shape = column->shape;
    columns_[i].storage = column->storage;
    columns_[i].is_nullable = bit_is_set(nullable, i);
  }
  if (!metadata.at_end()) {
    return std::unexpected(DecodeError::malformed);
  }
  return {};
}

std::expected<void, DecodeError> TableLayout::read_details(ByteCursor& cursor, bool is_mariadb) {
  bool good = true;
  while (good && cursor.ok() && cursor.left() != 0) {
    const auto detail = static_cast<Detail>(cursor.u8());
    const std::string_view value = cursor.length_encoded_text();
    switch (detail) {
      case Detail::signedness:
        good = read_signedness(value);
        break;
      case Detail::default_collation:
        good = read_default_collation(value, is_mariadb);
        break;
      case Detail::collations:
        good = read_collations(value, is_mariadb);
        break;
      case Detail::names:
        good = read_names(value);
        break;
      case Detail::primary_key:
      case Detail::primary_key_with_prefixes:
        good = read_primary_key(value, detail == Detail::primary_key_with_prefixes);
        break;
      default:
        break;
    }
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (!good) {
    return std::unexpected(DecodeError::malformed);
  }
  return {};
}

bool TableLayout::read_signedness(std::string_view value) {
  std::size_t index = 0;
  for (Column& column : columns_) {
    if (!has_signedness(column.shape.type)) {
      continue;
    }
    if (index / 8 >= value.size()) {
      return false;
    }
    column.is_unsigned = high_bit_is_set(value, index);
    ++index;
  }
  return value.size() == (index + 7) / 8;
}

std::vector<Column*> TableLayout::columns_with_collation(bool is_mariadb) {
  std::vector<Column*> found;
  for (Column& column : columns_) {
    if (has_collation(column.shape.type, is_mariadb)) {
      found.push_back(&column);
    }
  }
  return found;
}

// One for all of them, then pairs for those that have another: which of them, and its collation.
bool TableLayout::read_default_collation(std::string_view value, bool is_mariadb) {
  ByteCursor cursor(value);
  const auto common = static_cast<std::uint32_t>(cursor.length_encoded());
  const std::vector<Column*> columns = columns_with_collation(is_mariadb);
  for (Column* column : columns) {
    column->collation = common;
  }
  while (cursor.ok() && cursor.left() != 0) {
    const std::uint64_t index = cursor.length_encoded();
    const std::uint64_t collation = cursor.length_encoded();
    if (index >= columns.size()) {
      return false;
    }
    columns[index]->collation = static_cast<std::uint32_t>(collation);
  }
  return cursor.ok();
}

bool TableLayout::read_collations(std::string_view value, bool is_mariadb) {
  ByteCursor cursor(value);
  for (Column* column : columns_with_collation(is_mariadb)) {
    column->collation = static_cast<std::uint32_t>(cursor.length_encoded());
  }
  return cursor.at_end();
}

bool TableLayout::read_names(std::string_view value) {
  ByteCursor cursor(value);
  for (Column& column : columns_) {
    column.name = cursor.length_encoded_text();
  }
  return cursor.at_end();
}

bool TableLayout::read_primary_key(std::string_view value, bool has_prefixes) {
  ByteCursor cursor(value);
  primary_key_.clear();
  while (cursor.ok() && cursor.left() != 0) {
    const std::uint64_t column = cursor.length_encoded();
    const std::uint64_t prefix = has_prefixes ? cursor.length_encoded() : 0;
    if (column >= columns_.size()) {
      return false;
    }
    primary_key_.push_back({.column = static_cast<std::uint32_t>(column), .prefix = prefix});
  }
  return cursor.ok();
}

}  // namespace cuckooguard::binlog
