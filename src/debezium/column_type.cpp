#include "debezium/column_type.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::debezium {
namespace {

using keyspace::ValueType;

struct Named {
  std::string_view name;
  Encoding encoding;
};

constexpr auto kDeclared = std::to_array<Named>({
    {"integer", Encoding::integer},
    {"string", Encoding::text},
    {"uuid", Encoding::uuid},
    {"enum", Encoding::label},
    {"bytes", Encoding::bytes},
    {"base64", Encoding::bytes},
    {"base64-url-safe", Encoding::bytes_url},
    {"hex", Encoding::bytes_hex},
    {"decimal text", Encoding::decimal_text},
    {"variable decimal", Encoding::variable_decimal},
    {"date", Encoding::days},
    {"iso date", Encoding::iso_date},
    {"boolean", Encoding::boolean},
});

constexpr auto kSemantic = std::to_array<Named>({
    {"io.debezium.data.Uuid", Encoding::uuid},
    {"io.debezium.data.Enum", Encoding::label},
    {"org.apache.kafka.connect.data.Decimal", Encoding::decimal},
    {"io.debezium.data.VariableScaleDecimal", Encoding::variable_decimal},
    {"io.debezium.time.Date", Encoding::days},
    {"org.apache.kafka.connect.data.Date", Encoding::days},
    {"io.debezium.time.IsoDate", Encoding::iso_date},
});

constexpr auto kPlain = std::to_array<Named>({
    {"int8", Encoding::integer},
    {"int16", Encoding::integer},
    {"int32", Encoding::integer},
    {"int64", Encoding::integer},
    {"string", Encoding::text},
    {"bytes", Encoding::bytes},
    {"boolean", Encoding::boolean},
});

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

template <std::size_t N>
std::optional<Encoding> find_in(const std::array<Named, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name, &Named::name);
  return found == names.end() ? std::nullopt : std::optional(found->encoding);
}

// Of a plain string whose type in the database is known.
enum class Text : std::uint8_t { bytes, folded, other };
Text text_of(std::string_view source_type) {
  const std::string word = text::upper_case(source_type.substr(0, source_type.find('(')));
  if (is_one_of(word,
                {"VARCHAR",
                 "TEXT",
                 "CHARACTER VARYING",
                 "VARCHAR2",
                 "NVARCHAR2",
                 "NVARCHAR",
                 "TINYTEXT",
                 "MEDIUMTEXT",
                 "LONGTEXT",
                 "NTEXT"})) {
    return Text::bytes;
  }
  return is_one_of(word, {"CHAR", "NCHAR", "BPCHAR", "CHARACTER", "CITEXT"}) ? Text::folded
                                                                             : Text::other;
}

ColumnType type_in(const SchemaField& field) {
  ColumnType type{.encoding = Encoding::opaque,
                  .name = std::string(field.name.empty() ? field.type : field.name)};
  const auto found =
      field.name.empty() ? find_in(kPlain, field.type) : find_in(kSemantic, field.name);
  type.encoding = found.value_or(Encoding::opaque);
  if (type.encoding == Encoding::decimal) {
    const auto scale = text::number_of<std::int32_t>(field.scale);
    type.scale = scale.value_or(0);
    type.encoding = scale ? type.encoding : Encoding::opaque;
  }
  if (type.encoding == Encoding::text && !field.source_type.empty()) {
    const Text text = text_of(field.source_type);
    type.needs_folding = text == Text::folded;
    if (text == Text::other) {
      type.encoding = Encoding::opaque;
      type.name = std::string(field.source_type);
    }
  }
  return type;
}

std::string in_words(const ColumnType& type) {
  if (!type.name.empty()) {
    return type.name;
  }
  const auto found = std::ranges::find(kDeclared, type.encoding, &Named::encoding);
  return found == kDeclared.end() ? "of another type" : std::string(found->name);
}

bool is_compared_by_bytes(Connector connector) {
  return connector == Connector::postgresql || connector == Connector::oracle;
}

std::string use_instead(std::string_view placeholders) {
  return "; use " + std::string(placeholders);
}

std::optional<std::string> unsuitable_text(const Column& column,
                                           const ColumnType& type,
                                           ValueType placeholder,
                                           Connector connector) {
  switch (placeholder) {
    case ValueType::text_ci:
    case ValueType::uint64:
    case ValueType::int64:
      return std::nullopt;
    case ValueType::text:
      if (column.compares_bytes || (is_compared_by_bytes(connector) && !type.needs_folding)) {
        return std::nullopt;
      }
      return " is text that " + std::string(name_of(connector)) +
             " may find by several spellings, which the stream does not tell; use |ci, or declare "
             "that it is compared byte by byte";
    case ValueType::uuid:
      if (!is_compared_by_bytes(connector) && type.encoding == Encoding::text) {
        return std::nullopt;
      }
      [[fallthrough]];
    default:
      return " is " + in_words(type) + use_instead("no type, or |ci");
  }
}

std::optional<std::string> unsuitable_bytes(const Column& column,
                                            ValueType placeholder,
                                            Connector connector) {
  const auto is_uuid = [](ValueType each) { return each == ValueType::uuid; };
  if (placeholder == ValueType::uuid && (is_binlog(connector) || connector == Connector::oracle)) {
    return std::ranges::all_of(column.placeholders, is_uuid)
               ? std::nullopt
               : std::optional<std::string>(
                     " is bytes, which keys cannot have both as they are and as a "
                     "UUID");
  }
  if (connector == Connector::postgresql) {
    return placeholder == ValueType::bytea ? std::nullopt
                                           : std::optional(" is bytes" + use_instead(":bytea"));
  }
  if (!is_binlog(connector)) {
    return " is bytes, which keys cannot carry in " + std::string(name_of(connector)) +
           "'s own spelling; use another column" +
           (connector == Connector::oracle ? ", or :uuid for the 16 bytes of a UUID" : "");
  }
  return placeholder == ValueType::text
             ? std::nullopt
             : std::optional(" is bytes" + use_instead("no type, or :uuid for the 16 "
                                                       "bytes of a UUID"));
}

std::optional<std::string> unsuitable_decimal(const ColumnType& type,
                                              ValueType placeholder,
                                              Connector connector) {
  const bool may_be_integer = type.encoding != Encoding::decimal || type.scale <= 0;
  const bool is_integer = placeholder == ValueType::uint64 || placeholder == ValueType::int64;
  if (is_integer && (may_be_integer || is_binlog(connector))) {
    return std::nullopt;
  }
  if (placeholder == ValueType::numeric && !is_binlog(connector)) {
    return std::nullopt;
  }
  return " is a decimal number" + use_instead(is_binlog(connector)
                                                  ? ":uint64 or :int64"
                                                  : ":numeric, or :int64 if it has "
                                                    "no fraction");
}

// Of one placeholder.
std::optional<std::string> unsuitable_for(const Column& column,
                                          const ColumnType& type,
                                          ValueType placeholder,
                                          Connector connector) {
  const auto only = [&](bool is_right, std::string_view better) {
    return is_right ? std::nullopt : std::optional(" is " + in_words(type) + use_instead(better));
  };
  switch (type.encoding) {
    case Encoding::untold:
      return std::nullopt;  // each value is judged by itself
    case Encoding::integer:
      return only(placeholder == ValueType::uint64 || placeholder == ValueType::int64,
                  ":uint64, or :int64 if it has negative values");
    case Encoding::text:
    case Encoding::label:
      return unsuitable_text(column, type, placeholder, connector);
    case Encoding::uuid:
      return only(placeholder == ValueType::uuid, ":uuid");
    case Encoding::bytes:
    case Encoding::bytes_url:
    case Encoding::bytes_hex:
      return unsuitable_bytes(column, placeholder, connector);
    case Encoding::decimal:
    case Encoding::variable_decimal:
    case Encoding::decimal_text:
      return unsuitable_decimal(type, placeholder, connector);
    case Encoding::days:
    case Encoding::iso_date:
      if (connector == Connector::oracle) {
        return " is an Oracle DATE, which has a time of day; use another column";
      }
      return only(placeholder == ValueType::date, ":date");
    case Encoding::boolean:
    case Encoding::opaque:
      break;
  }
  return " is " + in_words(type) +
         ", whose text in keys is not known; use an integer, text, uuid, decimal, date or bytes "
         "column";
}

std::optional<std::string> incomparable(const Column& column,
                                        const ColumnType& type,
                                        Connector connector) {
  switch (type.encoding) {
    case Encoding::untold:
    case Encoding::integer:
    case Encoding::boolean:
      return std::nullopt;
    case Encoding::text:
    case Encoding::label:
      return unsuitable_text(column, type, ValueType::text, connector)
                 ? std::optional(" is text that " + std::string(name_of(connector)) +
                                 " may not compare byte by byte, as a condition does; declare that "
                                 "it does, or test it only with IS NULL or IS NOT NULL")
                 : std::nullopt;
    default:
      return " is " + in_words(type) +
             ", which a condition can test only with IS NULL or IS NOT NULL";
  }
}

}  // namespace

std::optional<ColumnType> declared_type(std::string_view text) {
  ColumnType type;
  if (text.starts_with("decimal(") && text.ends_with(')')) {
    const auto scale = text::number_of<std::int32_t>(text.substr(8, text.size() - 9));
    if (!scale) {
      return std::nullopt;
    }
    return ColumnType{.encoding = Encoding::decimal, .scale = *scale};
  }
  const auto found = find_in(kDeclared, text);
  return found ? std::optional(ColumnType{.encoding = *found}) : std::nullopt;
}

std::expected<ColumnType, std::string> type_of(const Column& column,
                                               const std::optional<SchemaField>& field) {
  if (!field) {
    return column.declared.value_or(ColumnType{});
  }
  ColumnType told = type_in(*field);
  if (!column.declared || column.declared->encoding == told.encoding) {
    if (column.declared && told.encoding == Encoding::decimal &&
        column.declared->scale != told.scale) {
      return std::unexpected(fmt::format(" has the scale {} in the schema, and {} is declared",
                                         told.scale,
                                         column.declared->scale));
    }
    return told;
  }
  const Encoding declared = column.declared->encoding;
  const bool may_be_told_apart = declared != Encoding::integer && declared != Encoding::decimal &&
                                 declared != Encoding::variable_decimal &&
                                 declared != Encoding::days && declared != Encoding::boolean;
  if (field->type == "string" && field->name.empty() && may_be_told_apart) {
    told.encoding = declared;
    return told;
  }
  return std::unexpected(" is " + in_words(told) + " in the schema, and declared as " +
                         in_words(*column.declared));
}

std::optional<std::string> unsuitable(const Column& column,
                                      const ColumnType& type,
                                      Connector connector) {
  for (const ValueType placeholder : column.placeholders) {
    if (auto why = unsuitable_for(column, type, placeholder, connector)) {
      return why;
    }
  }
  return column.is_compared ? incomparable(column, type, connector) : std::nullopt;
}

}  // namespace cuckooguard::debezium
