// One golden row for each type that serves a placeholder, as each connector writes it with its
// schema, and the text that keys have.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "debezium/connect_schema.h"
#include "debezium/decoder.h"
#include "made_messages.h"

namespace cuckooguard::debezium {
namespace {

struct Typed {
  Connector connector;
  std::string_view field;  // of the schema, without its name
  std::string_view value;
  ValueType placeholder;
  std::string_view text;
};

std::string source_of(Connector connector) {
  switch (connector) {
    case Connector::mysql:
    case Connector::mariadb:
      return source_of(connector, R"("gtid":null,"file":"bin.000001","pos":4,"row":0)");
    case Connector::postgresql:
      return source_of(connector, R"("sequence":"[\"1\",\"2\"]","lsn":2)");
    case Connector::sqlserver:
      return source_of(connector,
                       R"("change_lsn":"1:2:3","commit_lsn":"1:2:4","event_serial_no":1)");
    case Connector::oracle:
      break;
  }
  return source_of(connector, R"("scn":"1","commit_scn":"2","rs_id":"1.2.3","ssn":0)");
}

TEST(TypedColumns, become_the_text_of_keys) {
  constexpr std::string_view kInt = R"("type":"int64","optional":false)";
  constexpr std::string_view kString = R"("type":"string","optional":true)";
  constexpr std::string_view kBytes = R"("type":"bytes","optional":true)";
  constexpr std::string_view kUuid =
      R"("type":"string","optional":true,"name":"io.debezium.data.Uuid","version":1)";
  constexpr std::string_view kEnum =
      R"("type":"string","optional":true,"name":"io.debezium.data.Enum","version":1,)"
      R"("parameters":{"allowed":"small,large"})";
  constexpr std::string_view kDecimal =
      R"("type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal",)"
      R"("version":1,"parameters":{"scale":"2","connect.decimal.precision":"10"})";
  constexpr std::string_view kUnsigned =
      R"("type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal",)"
      R"("version":1,"parameters":{"scale":"0"})";
  constexpr std::string_view kVariable =
      R"("type":"struct","fields":[{"type":"int32","optional":false,"field":"scale"},)"
      R"({"type":"bytes","optional":false,"field":"value"}],"optional":true,)"
      R"("name":"io.debezium.data.VariableScaleDecimal","version":1)";
  constexpr std::string_view kDate =
      R"("type":"int32","optional":true,"name":"io.debezium.time.Date","version":1)";
  constexpr std::string_view kConnectDate =
      R"("type":"int32","optional":true,"name":"org.apache.kafka.connect.data.Date","version":1)";
  constexpr std::string_view kIsoDate =
      R"("type":"string","optional":true,"name":"io.debezium.time.IsoDate","version":1)";
  constexpr std::string_view kSmall = R"("type":"int16","optional":true,"default":0)";
  const Typed rows[] = {
      {Connector::mysql, kInt, "-7", ValueType::int64, "-7"},
      {Connector::mysql, kSmall, "255", ValueType::uint64, "255"},
      {Connector::mysql, kUnsigned, R"("AP//////////")", ValueType::uint64, "18446744073709551615"},
      {Connector::mysql, kString, R"("Anne\u0020\"M\"")", ValueType::text_ci, "Anne \"M\""},
      {Connector::mysql, kEnum, R"("small")", ValueType::text_ci, "small"},
      {Connector::mysql, kBytes, R"("YWJj")", ValueType::text, "abc"},
      {Connector::mysql,
       kBytes,
       R"("ABEiM0RVZneImaq7zN3u/w==")",
       ValueType::uuid,
       "00112233-4455-6677-8899-aabbccddeeff"},
      {Connector::mysql, kDate, "20786", ValueType::date, "2026-11-29"},
      {Connector::mysql, kConnectDate, "20786", ValueType::date, "2026-11-29"},
      {Connector::mysql, kDecimal, R"("A+g=")", ValueType::int64, "10.00"},
      {Connector::mariadb, kInt, "9223372036854775807", ValueType::uint64, "9223372036854775807"},
      {Connector::mariadb, kIsoDate, R"("2026-11-29Z")", ValueType::date, "2026-11-29"},
      {Connector::mariadb,
       kBytes,
       R"("ABEiM0RVZneImaq7zN3u/w==")",
       ValueType::uuid,
       "00112233-4455-6677-8899-aabbccddeeff"},
      {Connector::postgresql, kInt, "42", ValueType::uint64, "42"},
      {Connector::postgresql, kString, R"("Zo\u00eb")", ValueType::text, "Zo\u00eb"},
      {Connector::postgresql,
       kUuid,
       R"("0b3ab9a2-0000-4000-8000-000000000001")",
       ValueType::uuid,
       "0b3ab9a2-0000-4000-8000-000000000001"},
      {Connector::postgresql, kEnum, R"("large")", ValueType::text, "large"},
      {Connector::postgresql, kBytes, R"("3q2+7w==")", ValueType::bytea, "\\xdeadbeef"},
      {Connector::postgresql, kDecimal, R"("/pI=")", ValueType::numeric, "-3.66"},
      {Connector::postgresql,
       kVariable,
       R"({"scale":3,"value":"BNI="})",
       ValueType::numeric,
       "1.234"},
      {Connector::postgresql, kDate, "-719162", ValueType::date, "0001-01-01"},
      {Connector::sqlserver, kInt, "1001", ValueType::uint64, "1001"},
      {Connector::sqlserver,
       kString,
       R"("6F9619FF-8B86-D011-B42D-00C04FC964FF")",
       ValueType::uuid,
       "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
      {Connector::sqlserver, kDecimal, R"("bg==")", ValueType::numeric, "1.10"},
      {Connector::sqlserver, kDate, "0", ValueType::date, "1970-01-01"},
      {Connector::oracle, kInt, "1004", ValueType::uint64, "1004"},
      {Connector::oracle, kVariable, R"({"value":"AyA=","scale":0})", ValueType::uint64, "800"},
      {Connector::oracle,
       kBytes,
       R"("ABEiM0RVZneImaq7zN3u/w==")",
       ValueType::uuid,
       "00112233-4455-6677-8899-aabbccddeeff"},
      {Connector::oracle, kString, R"("Anne")", ValueType::text, "Anne"},
  };
  for (const Typed& row : rows) {
    const std::string table = row.connector == Connector::oracle ? "CUSTOMERS" : "customers";
    Decoder decoder(one_table({column("c", row.placeholder)}, table));
    const std::string field = "{" + std::string(row.field) + R"(,"field":"c"})";
    const std::string after = R"({"c":)" + std::string(row.value) + "}";
    const std::string value =
        with_schema(field, envelope_of("c", "null", after, source_of(row.connector)));
    const auto change = decoder.decode({.key = {}, .value = value});
    ASSERT_TRUE(change) << change.error().what << "\n" << value;
    EXPECT_EQ(words_of(change->after), row.text) << name_of(row.connector) << " " << row.field;
  }
}

std::string key_columns_in(std::string_view key, Connector connector = Connector::mysql) {
  const auto columns = key_columns(key, connector);
  if (!columns) {
    return "refused: " + columns.error();
  }
  std::string all;
  for (const KeyColumn& column : *columns) {
    all += column.placeholder
               ? keyspace::Placeholder{.name = column.name, .type = *column.placeholder}.text()
               : column.name;
  }
  return all;
}

TEST(TypedColumns, of_a_key_are_listed_with_what_they_may_serve) {
  const std::string fields =
      R"({"type":"int64","field":"id"},{"type":"string","field":"n\u0061me"},)"
      R"({"type":"string","name":"io.debezium.data.Uuid","field":"u"},)"
      R"({"type":"int32","name":"io.debezium.time.Date","field":"d"},)"
      R"({"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"},)"
      R"("field":"n"},{"type":"bytes","field":"b"},{"type":"double","field":"f"})";
  const std::string key = key_with_schema(fields, "{}");
  EXPECT_EQ(key_columns_in(key, Connector::mysql),
            "{id:int64}{name|ci}{u:uuid}{d:date}{n:int64}{b}f");
  EXPECT_EQ(key_columns_in(key, Connector::postgresql),
            "{id:int64}{name}{u:uuid}{d:date}{n:numeric}{b:bytea}f");
  EXPECT_EQ(key_columns_in(key, Connector::oracle),
            "{id:int64}{name}{u:uuid}d{n:numeric}{b:uuid}f");
  EXPECT_EQ(
      key_columns_in(R"({"id":7,"u":"0B3AB9A2-0000-4000-8000-000000000001","s":"a","n":1.5})"),
      "{id:int64}{u:uuid}sn");
  EXPECT_EQ(key_columns_in(R"({"schema":1,"payload":2})"), "{schema:int64}{payload:int64}");
  EXPECT_EQ(key_columns_in("{}"), "");
  EXPECT_EQ(key_columns_in(R"({"id":)"), "refused: a message is not valid JSON");
  EXPECT_EQ(key_columns_in(""), "refused: a message is not valid JSON");
}

TEST(TypedColumns, change_with_the_schema) {
  Decoder decoder(one_table({column("c", ValueType::date)}));
  const std::string source = source_of(Connector::mysql);
  const auto decode = [&](std::string_view field, std::string_view value) {
    return words_of(decoder.decode(
        {.key = {},
         .value = with_schema(
             field, envelope_of("c", "null", R"({"c":)" + std::string(value) + "}", source))}));
  };
  const std::string_view date =
      R"({"type":"int32","optional":true,"name":"io.debezium.time.Date","field":"c"})";
  EXPECT_EQ(decode(date, "1"), "create 0 to (1970-01-02) at mysql shop bin.000001 4 0");
  EXPECT_EQ(decode(R"({"type":"string","name":"io.debezium.time.IsoDate","field":"c"})",
                   R"("1970-01-03Z")"),
            "create 0 to (1970-01-03) at mysql shop bin.000001 4 0");
  EXPECT_EQ(decode(R"({"type":"int64","field":"c"})", "1"),
            "refused: column c is int64; use :uint64, or :int64 if it has negative values");
  EXPECT_EQ(decode(R"({"type":"int64","field":"d"})", "1"),
            "refused: column c is not in the schema of its table");
  EXPECT_EQ(decode(date, "3"), "create 0 to (1970-01-04) at mysql shop bin.000001 4 0");
}

}  // namespace
}  // namespace cuckooguard::debezium
