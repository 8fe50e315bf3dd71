#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "mysql/log_applier.h"
#include "text/number.h"

namespace cuckooguard::source::mysql {
namespace {

using binlog::ColumnType;

// What the log may call a column: servers log a type as what it was made from, or as it was stored
// by releases before.
struct LoggedAs {
  ColumnType type;
  std::string_view name;
  std::string_view data_types;  // each with a blank before and behind it
};

constexpr std::string_view kText =
    " tinytext text mediumtext longtext tinyblob blob mediumblob longblob ";

constexpr auto kLoggedAs = std::to_array<LoggedAs>({
    {ColumnType::int8, "TINYINT", " tinyint "},
    {ColumnType::int16, "SMALLINT", " smallint "},
    {ColumnType::int24, "MEDIUMINT", " mediumint "},
    {ColumnType::int32, "INT", " int "},
    {ColumnType::int64, "BIGINT", " bigint "},
    {ColumnType::float4, "FLOAT", " float "},
    {ColumnType::float8, "DOUBLE", " double "},
    {ColumnType::decimal, "DECIMAL", " decimal "},
    {ColumnType::date, "DATE", " date "},
    {ColumnType::new_date, "DATE", " date "},
    {ColumnType::year, "YEAR", " year "},
    {ColumnType::time, "TIME", " time "},
    {ColumnType::time_old, "TIME", " time "},
    {ColumnType::datetime, "DATETIME", " datetime "},
    {ColumnType::datetime_old, "DATETIME", " datetime "},
    {ColumnType::timestamp, "TIMESTAMP", " timestamp "},
    {ColumnType::timestamp_old, "TIMESTAMP", " timestamp "},
    {ColumnType::string, "CHAR or BINARY", " char binary uuid inet4 inet6 "},
    {ColumnType::varchar, "VARCHAR or VARBINARY", " varchar varbinary "},
    {ColumnType::var_string, "VARCHAR or VARBINARY", " varchar varbinary "},
    {ColumnType::mariadb_varchar_compressed, "VARCHAR or VARBINARY", " varchar varbinary "},
    {ColumnType::tiny_blob, "TEXT or BLOB", kText},
    {ColumnType::blob, "TEXT or BLOB", kText},
    {ColumnType::medium_blob, "TEXT or BLOB", kText},
    {ColumnType::long_blob, "TEXT or BLOB", kText},
    {ColumnType::mariadb_blob_compressed, "TEXT or BLOB", kText},
    {ColumnType::enumeration, "ENUM", " enum "},
    {ColumnType::set, "SET", " set "},
    {ColumnType::bit, "BIT", " bit "},
    {ColumnType::json, "JSON", " json "},
});

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view name_of(ColumnType type) {
  const auto found = std::ranges::find(kLoggedAs, type, &LoggedAs::type);
  return found == kLoggedAs.end() ? "of another type" : found->name;
}

// Of `decimal(10,2)` 10 and 2, of `time` nothing: `otherwise`.
std::uint32_t number_in(std::string_view column_type, std::size_t place, std::uint32_t otherwise) {
  std::size_t at = column_type.find('(');
  if (place == 1 && at != std::string_view::npos) {
    at = column_type.find(',', at);
  }
  return at == std::string_view::npos ? otherwise
                                      : text::leading_number(column_type.substr(at + 1), otherwise);
}

// Of `enum('a','it''s')`: every quote that is no mark is there twice.
std::size_t labels_of(std::string_view column_type) {
  bool is_within = false;
  std::size_t labels = 0;
  for (std::size_t i = 0; i < column_type.size(); ++i) {
    if (column_type[i] != '\'') {
      continue;
    }
    if (is_within && i + 1 < column_type.size() && column_type[i + 1] == '\'') {
      ++i;
      continue;
    }
    labels += is_within ? 0 : 1;
    is_within = !is_within;
  }
  return labels;
}

bool is_of_its_kind(const Column& planned, const binlog::Column& logged) {
  const std::string word = " " + planned.data_type + " ";
  bool is_known = false;
  for (const LoggedAs& each : kLoggedAs) {
    const bool is_this = each.data_types.find(word) != std::string_view::npos;
    if (is_this && each.type == logged.shape.type) {
      return true;
    }
    is_known = is_known || is_this;
  }
  return !is_known;
}

// As many bytes as `planned` has. Compressed columns have one more.
bool has_its_bytes(const Column& planned, const binlog::Column& logged) {
  return planned.bytes == 0 || logged.shape.length == planned.bytes ||
         logged.shape.type == ColumnType::mariadb_varchar_compressed;
}

// Of the two, which are of one kind.
bool has_its_size(const Column& planned, const binlog::Column& logged) {
  const std::string_view type = planned.column_type;
  switch (logged.shape.type) {
    case ColumnType::string:
    case ColumnType::varchar:
    case ColumnType::var_string:
      return has_its_bytes(planned, logged);
    case ColumnType::decimal:
      return logged.shape.length == number_in(type, 0, logged.shape.length) &&
             logged.shape.scale == number_in(type, 1, logged.shape.scale);
    case ColumnType::time:
    case ColumnType::datetime:
    case ColumnType::timestamp:
      return logged.shape.scale == number_in(type, 0, 0);
    case ColumnType::bit:
      return logged.shape.length == number_in(type, 0, logged.shape.length);
    case ColumnType::enumeration:
      return logged.storage.fixed_bytes == (labels_of(type) < 256 ? 1 : 2);
    case ColumnType::set: {
      const std::size_t bytes = (labels_of(type) + 7) / 8;
      return logged.storage.fixed_bytes == (bytes > 4 ? 8 : bytes);
    }
    default:
      return true;
  }
}

// BINARY and VARBINARY have no character set.
bool has_its_character(const Column& planned, const binlog::Column& logged) {
  if (!logged.collation ||
      !is_one_of(planned.data_type, {"char", "varchar", "binary", "varbinary"})) {
    return true;
  }
  const bool is_binary = planned.type() == ColumnKind::bytes;
  return (*logged.collation == binlog::Column::kBinaryCollation) == is_binary;
}

bool has_its_sign(const Column& planned, const binlog::Column& logged) {
  return planned.type() != ColumnKind::integer || !logged.is_unsigned ||
         *logged.is_unsigned == planned.is_unsigned();
}

}  // namespace

std::optional<std::string> why_not_the_same(const Column& planned,
                                            const binlog::Column& logged,
                                            bool is_read) {
  const std::string subject =
      "column `" + planned.name + "` is " + planned.column_type + " in the schema and ";
  if (!is_of_its_kind(planned, logged)) {
    return subject + std::string(name_of(logged.shape.type)) + " in the log";
  }
  if (!has_its_sign(planned, logged)) {
    return subject + (logged.is_unsigned.value_or(false) ? "UNSIGNED" : "signed") + " in the log";
  }
  if (!is_read) {
    return std::nullopt;
  }
  if (!has_its_size(planned, logged)) {
    return subject + "of another size in the log";
  }
  if (!has_its_character(planned, logged)) {
    return subject + "has another character set in the log";
  }
  if (logged.is_nullable != planned.nullable) {
    return subject + (logged.is_nullable ? "can be NULL" : "is NOT NULL") + " in the log";
  }
  return std::nullopt;
}

}  // namespace cuckooguard::source::mysql
