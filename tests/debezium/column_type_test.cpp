#include "debezium/column_type.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::debezium {
namespace {

using keyspace::ValueType;

constexpr std::string_view kDecimal = "org.apache.kafka.connect.data.Decimal";

Column column(std::vector<ValueType> types) {
  return {.name = "c", .placeholders = std::move(types)};
}

ColumnType type(const SchemaField& field) {
  return type_of(column({}), field).value();
}

bool serves(Connector connector, const SchemaField& field, ValueType placeholder) {
  return !unsuitable(column({placeholder}), type(field), connector);
}

// The placeholders that a type may serve, by the words behind their names.
std::string placeholders_of(Connector connector, const SchemaField& field) {
  std::string all;
  for (const ValueType each : {ValueType::text,
                               ValueType::text_ci,
                               ValueType::uint64,
                               ValueType::int64,
                               ValueType::uuid,
                               ValueType::numeric,
                               ValueType::date,
                               ValueType::bytea}) {
    if (serves(connector, field, each)) {
      all += each == ValueType::text ? " text" : " " + std::string(keyspace::suffix_of(each));
    }
  }
  return all;
}

TEST(ColumnType, serves_the_placeholders_that_find_what_the_database_finds) {
  struct Case {
    Connector connector;
    SchemaField field;
    std::string_view placeholders;
  };
  const SchemaField text{.type = "string"};
  const std::vector<Case> cases = {
      {Connector::mysql, {.type = "int64"}, " :uint64 :int64"},
      {Connector::postgresql, {.type = "int8"}, " :uint64 :int64"},
      {Connector::mysql, text, " |ci :uint64 :int64 :uuid"},
      {Connector::mariadb, text, " |ci :uint64 :int64 :uuid"},
      {Connector::sqlserver, text, " |ci :uint64 :int64 :uuid"},
      {Connector::postgresql, text, " text |ci :uint64 :int64"},
      {Connector::oracle, text, " text |ci :uint64 :int64"},
      {Connector::postgresql,
       {.type = "string", .source_type = "bpchar(5)"},
       " |ci :uint64 :int64"},
      {Connector::postgresql, {.type = "string", .source_type = "CITEXT"}, " |ci :uint64 :int64"},
      {Connector::postgresql, {.type = "string", .source_type = "INET"}, ""},
      {Connector::postgresql,
       {.type = "string", .source_type = "VARCHAR"},
       " text |ci :uint64 :int64"},
      {Connector::postgresql, {.type = "string", .name = "io.debezium.data.Uuid"}, " :uuid"},
      {Connector::postgresql,
       {.type = "string", .name = "io.debezium.data.Enum"},
       " text |ci :uint64 :int64"},
      {Connector::postgresql, {.type = "bytes"}, " :bytea"},
      {Connector::mysql, {.type = "bytes"}, " text :uuid"},
      {Connector::oracle, {.type = "bytes"}, " :uuid"},
      {Connector::sqlserver, {.type = "bytes"}, ""},
      {Connector::postgresql, {.type = "bytes", .name = kDecimal, .scale = "2"}, " :numeric"},
      {Connector::oracle,
       {.type = "bytes", .name = kDecimal, .scale = "0"},
       " :uint64 :int64 :numeric"},
      {Connector::oracle,
       {.type = "struct", .name = "io.debezium.data.VariableScaleDecimal"},
       " :uint64 :int64 :numeric"},
      {Connector::mysql, {.type = "bytes", .name = kDecimal, .scale = "2"}, " :uint64 :int64"},
      {Connector::mysql, {.type = "bytes", .name = kDecimal}, ""},
      {Connector::mysql, {.type = "int32", .name = "io.debezium.time.Date"}, " :date"},
      {Connector::sqlserver,
       {.type = "int32", .name = "org.apache.kafka.connect.data.Date"},
       " :date"},
      {Connector::postgresql, {.type = "string", .name = "io.debezium.time.IsoDate"}, " :date"},
      {Connector::oracle, {.type = "int32", .name = "org.apache.kafka.connect.data.Date"}, ""},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(placeholders_of(each.connector, each.field), each.placeholders)
        << name_of(each.connector) << " " << each.field.type << " " << each.field.name;
  }
}

TEST(ColumnType, serves_nothing_whose_text_is_not_known) {
  for (const SchemaField& field :
       {SchemaField{.type = "boolean"},
        {.type = "float"},
        {.type = "double"},
        {.type = "array"},
        {.type = "map"},
        {.type = "int64", .name = "io.debezium.time.Timestamp"},
        {.type = "int64", .name = "io.debezium.time.MicroTimestamp"},
        {.type = "int64", .name = "io.debezium.time.NanoTimestamp"},
        {.type = "int32", .name = "io.debezium.time.Time"},
        {.type = "int64", .name = "io.debezium.time.MicroTime"},
        {.type = "string", .name = "io.debezium.time.ZonedTimestamp"},
        {.type = "string", .name = "io.debezium.time.ZonedTime"},
        {.type = "int64", .name = "io.debezium.time.MicroDuration"},
        {.type = "int32", .name = "io.debezium.time.Year"},
        {.type = "struct", .name = "io.debezium.time.StructuredDate"},
        {.type = "int64", .name = "org.apache.kafka.connect.data.Timestamp"},
        {.type = "bytes", .name = "io.debezium.data.Bits"},
        {.type = "string", .name = "io.debezium.data.EnumSet"},
        {.type = "string", .name = "io.debezium.data.Json"},
        {.type = "string", .name = "io.debezium.data.Xml"},
        {.type = "struct", .name = "io.debezium.data.geometry.Point"},
        {.type = "struct", .name = "io.debezium.data.geometry.Geometry"},
        {.type = "int64", .name = "com.example.Own"}}) {
    for (const Connector connector : {Connector::mysql, Connector::postgresql}) {
      EXPECT_EQ(placeholders_of(connector, field), "") << field.type << " " << field.name;
      EXPECT_FALSE(unsuitable(column({}), type(field), connector)) << "IS NULL may be asked";
    }
  }
  EXPECT_EQ(unsuitable(column({ValueType::int64}),
                       type({.type = "int64", .name = "io.debezium.time.Timestamp"}),
                       Connector::mysql),
            " is io.debezium.time.Timestamp, whose text in keys is not known; use an integer, "
            "text, uuid, decimal, date or bytes column");
}

TEST(ColumnType, is_bytes_or_a_uuid_and_not_both) {
  EXPECT_FALSE(unsuitable(
      column({ValueType::uuid, ValueType::uuid}), type({.type = "bytes"}), Connector::mysql));
  EXPECT_EQ(
      unsuitable(
          column({ValueType::text, ValueType::uuid}), type({.type = "bytes"}), Connector::mysql),
      " is bytes, which keys cannot have both as they are and as a UUID");
}

TEST(ColumnType, takes_a_text_byte_by_byte_where_the_operator_says_that_it_is_compared_so) {
  Column name = column({ValueType::text});
  EXPECT_TRUE(unsuitable(name, type({.type = "string"}), Connector::mysql));
  name.compares_bytes = true;
  EXPECT_FALSE(unsuitable(name, type({.type = "string"}), Connector::mysql));
}

TEST(ColumnType, is_compared_by_a_condition_only_where_that_compares_as_the_database) {
  const Column compared{.name = "c", .is_compared = true};
  const auto is_right = [&compared](Connector connector, const SchemaField& field) {
    return !unsuitable(compared, type(field), connector);
  };
  EXPECT_TRUE(is_right(Connector::mysql, {.type = "int16"}));
  EXPECT_TRUE(is_right(Connector::postgresql, {.type = "boolean"}));
  EXPECT_TRUE(is_right(Connector::postgresql, {.type = "string"}));
  EXPECT_FALSE(is_right(Connector::mysql, {.type = "string"}));
  EXPECT_FALSE(is_right(Connector::postgresql, {.type = "bytes"}));
  EXPECT_FALSE(is_right(Connector::oracle, {.type = "bytes", .name = kDecimal, .scale = "2"}));
}

TEST(ColumnType, is_declared_by_name) {
  EXPECT_EQ(declared_type("decimal(2)")->scale, 2);
  EXPECT_EQ(declared_type("decimal(-2)")->scale, -2);
  EXPECT_EQ(declared_type("decimal text")->encoding, Encoding::decimal_text);
  EXPECT_EQ(declared_type("date")->encoding, Encoding::days);
  for (const std::string_view wrong :
       {"", "timestamp", "decimal", "decimal(", "decimal()", "decimal(x)"}) {
    EXPECT_FALSE(declared_type(wrong)) << wrong;
  }
}

TEST(ColumnType, is_what_is_declared_unless_the_schema_says_otherwise) {
  const auto result = [](std::string_view declared, const std::optional<SchemaField>& field) {
    Column it = column({});
    it.declared = declared_type(declared);
    const auto type = type_of(it, field);
    return type ? static_cast<int>(type->encoding) : -1;
  };
  const auto is = [](Encoding encoding) { return static_cast<int>(encoding); };
  EXPECT_EQ(result("date", std::nullopt), is(Encoding::days));
  EXPECT_EQ(result("", std::nullopt), is(Encoding::untold));
  // binary.handling.mode and decimal.handling.mode make plain strings.
  EXPECT_EQ(result("hex", SchemaField{.type = "string"}), is(Encoding::bytes_hex));
  EXPECT_EQ(result("base64-url-safe", SchemaField{.type = "string"}), is(Encoding::bytes_url));
  EXPECT_EQ(result("decimal text", SchemaField{.type = "string"}), is(Encoding::decimal_text));
  EXPECT_EQ(result("date", SchemaField{.type = "string"}), -1);
  EXPECT_EQ(result("string", SchemaField{.type = "int32"}), -1);
  EXPECT_EQ(result("integer", SchemaField{.type = "int32", .name = "io.debezium.time.Date"}), -1);
  EXPECT_EQ(result("decimal(2)", SchemaField{.type = "bytes", .name = kDecimal, .scale = "3"}), -1);
}

}  // namespace
}  // namespace cuckooguard::debezium
