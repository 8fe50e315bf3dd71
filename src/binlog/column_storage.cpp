#include <cstddef>

#include "binlog/table_layout.h"

namespace cuckooguard::binlog {
namespace {

constexpr std::uint16_t kByteLengthMax = 255;

std::optional<ResolvedColumn> fixed(ColumnType type, std::size_t bytes) {
  return ResolvedColumn{.shape = {.type = type},
                        .storage = {.fixed_bytes = static_cast<std::uint16_t>(bytes)}};
}

std::optional<ResolvedColumn> prefixed(ColumnType type, std::size_t prefix, std::uint16_t length) {
  return ResolvedColumn{.shape = {.type = type, .length = length},
                        .storage = {.prefix_bytes = static_cast<std::uint8_t>(prefix)}};
}

std::optional<ResolvedColumn> blob(ColumnType type, std::uint16_t prefix) {
  return prefix >= 1 && prefix <= 4 ? prefixed(type, prefix, 0) : std::nullopt;
}

std::optional<ResolvedColumn> with_fraction(ColumnType type,
                                            std::size_t bytes,
                                            std::uint16_t digits) {
  constexpr std::uint16_t kFractionDigitsMax = 6;
  if (digits > kFractionDigitsMax) {
    return std::nullopt;
  }
  return ResolvedColumn{
      .shape = {.type = type, .scale = static_cast<std::uint8_t>(digits)},
      .storage = {.fixed_bytes = static_cast<std::uint16_t>(bytes + (digits + 1U) / 2)}};
}

std::optional<ResolvedColumn> text(ColumnType type, std::uint16_t length) {
  return prefixed(type, length > kByteLengthMax ? 2 : 1, length);
}

std::optional<ResolvedColumn> bits(std::uint16_t metadata) {
  const unsigned odd_bits = metadata & 0xffU;
  const unsigned bytes = metadata >> 8U;
  const unsigned all_bits = 8 * bytes + odd_bits;
  if (odd_bits > 7 || all_bits > 64) {
    return std::nullopt;
  }
  return ResolvedColumn{
      .shape = {.type = ColumnType::bit, .length = static_cast<std::uint16_t>(all_bits)},
      .storage = {.fixed_bytes = static_cast<std::uint16_t>((all_bits + 7) / 8)}};
}

std::optional<ResolvedColumn> decimal(std::uint16_t metadata) {
  const auto precision = static_cast<std::uint8_t>(metadata & 0xffU);
  const auto scale = static_cast<std::uint8_t>(metadata >> 8U);
  if (precision == 0 || precision > kDecimalDigitsMax || scale > precision) {
    return std::nullopt;
  }
  return ResolvedColumn{
      .shape = {.type = ColumnType::decimal, .length = precision, .scale = scale},
      .storage = {.fixed_bytes = static_cast<std::uint16_t>(decimal_bytes(precision, scale))}};
}

// The first byte of the metadata is the real type, with two bits of the length turned over in it;
// the second one is the length's low byte (of enumeration and set: the value's bytes).
std::optional<ResolvedColumn> string(std::uint16_t metadata) {
  constexpr unsigned kLengthBits = 0x30;
  const unsigned first = metadata & 0xffU;
  const auto real = static_cast<ColumnType>(first | kLengthBits);
  const unsigned length = (metadata >> 8U) | (((first & kLengthBits) ^ kLengthBits) << 4U);
  switch (real) {
    case ColumnType::string:
      return text(ColumnType::string, static_cast<std::uint16_t>(length));
    case ColumnType::enumeration:
      return length == 1 || length == 2 ? fixed(real, length) : std::nullopt;
    case ColumnType::set:
      return length >= 1 && length <= 8 ? fixed(real, length) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::size_t> metadata_bytes(ColumnType type) {
  switch (type) {
    case ColumnType::decimal_old:
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::null:
    case ColumnType::timestamp_old:
    case ColumnType::int64:
    case ColumnType::int24:
    case ColumnType::date:
    case ColumnType::time_old:
    case ColumnType::datetime_old:
    case ColumnType::year:
    case ColumnType::new_date:
      return 0;
    case ColumnType::float4:
    case ColumnType::float8:
    case ColumnType::timestamp:
    case ColumnType::datetime:
    case ColumnType::time:
    case ColumnType::mariadb_blob_compressed:
    case ColumnType::vector:
    case ColumnType::json:
    case ColumnType::tiny_blob:
    case ColumnType::medium_blob:
    case ColumnType::long_blob:
    case ColumnType::blob:
    case ColumnType::geometry:
      return 1;
    case ColumnType::varchar:
    case ColumnType::bit:
    case ColumnType::mariadb_varchar_compressed:
    case ColumnType::decimal:
    case ColumnType::enumeration:
    case ColumnType::set:
    case ColumnType::var_string:
    case ColumnType::string:
      return 2;
    case ColumnType::typed_array:
      break;
  }
  return std::nullopt;
}

std::optional<ResolvedColumn> resolve_column(ColumnType type, std::uint16_t metadata) {
  switch (type) {
    case ColumnType::null:
      return fixed(type, 0);
    case ColumnType::int8:
    case ColumnType::year:
      return fixed(type, 1);
    case ColumnType::int16:
      return fixed(type, 2);
    case ColumnType::int24:
    case ColumnType::date:
    case ColumnType::new_date:
    case ColumnType::time_old:
      return fixed(type, 3);
    case ColumnType::int32:
    case ColumnType::timestamp_old:
      return fixed(type, 4);
    case ColumnType::int64:
    case ColumnType::datetime_old:
      return fixed(type, 8);
    case ColumnType::float4:
    case ColumnType::float8: {
      const std::uint16_t bytes = type == ColumnType::float4 ? 4 : 8;
      return metadata == bytes ? fixed(type, bytes) : std::nullopt;
    }
    case ColumnType::timestamp:
      return with_fraction(type, 4, metadata);
    case ColumnType::datetime:
      return with_fraction(type, 5, metadata);
    case ColumnType::time:
      return with_fraction(type, 3, metadata);
    case ColumnType::varchar:
    case ColumnType::var_string:
    case ColumnType::mariadb_varchar_compressed:
      return text(type, metadata);
    case ColumnType::bit:
      return bits(metadata);
    case ColumnType::decimal:
      return decimal(metadata);
    case ColumnType::string:
      return string(metadata);
    case ColumnType::mariadb_blob_compressed:
    case ColumnType::vector:
    case ColumnType::json:
    case ColumnType::tiny_blob:
    case ColumnType::medium_blob:
    case ColumnType::long_blob:
    case ColumnType::blob:
    case ColumnType::geometry:
      return blob(type, metadata);
    // Of before 5.0, or always inside `string`, or never logged.
    case ColumnType::decimal_old:
    case ColumnType::enumeration:
    case ColumnType::set:
    case ColumnType::typed_array:
      break;
  }
  return std::nullopt;
}

bool has_signedness(ColumnType type) {
  switch (type) {
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int24:
    case ColumnType::int32:
    case ColumnType::int64:
    case ColumnType::decimal:
    case ColumnType::float4:
    case ColumnType::float8:
    case ColumnType::year:
      return true;
    default:
      return false;
  }
}

bool has_collation(ColumnType type, bool is_mariadb) {
  switch (type) {
    case ColumnType::string:
    case ColumnType::var_string:
    case ColumnType::varchar:
    case ColumnType::tiny_blob:
    case ColumnType::medium_blob:
    case ColumnType::long_blob:
    case ColumnType::blob:
      return true;
    case ColumnType::geometry:
    case ColumnType::mariadb_blob_compressed:
    case ColumnType::mariadb_varchar_compressed:
      return is_mariadb;
    case ColumnType::vector:
      return !is_mariadb;
    default:
      return false;
  }
}

}  // namespace cuckooguard::binlog
