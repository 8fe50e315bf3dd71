// What is not understood is refused in words that say what to set, and that have nothing of a row.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "debezium/decoder.h"
#include "debezium/envelope.h"
#include "made_messages.h"

namespace cuckooguard::debezium {
namespace {

using namespace std::string_literals;

constexpr std::string_view kSecret = "98765";
const std::string kRow = R"({"id":98765,"name":"98765"})";

std::string source() {
  return source_of(Connector::mysql, R"("gtid":null,"file":"mysql-bin.000003","pos":484,"row":0)");
}

Refusal refused(const std::string& value, const std::string& key = R"({"id":98765})") {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  const auto result = decoder.decode({.key = key, .value = value});
  EXPECT_FALSE(result) << value << " is " << words_of(result);
  const Refusal refusal = result ? Refusal{} : result.error();
  EXPECT_EQ(refusal.what.find(kSecret), std::string::npos) << refusal.what;
  return refusal;
}

std::string words(const std::string& value) {
  return refused(value).what;
}

std::string created(std::string_view row) {
  return envelope_of("c", "null", row, source());
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Refusals, say_how_to_get_messages_that_can_be_read) {
  constexpr std::string_view kUnwrapped =
      "a message has no envelope (op, source, before, after): remove the transform "
      "ExtractNewRecordState (`unwrap`), which leaves out what an exact filter needs";
  EXPECT_EQ(words(kRow), kUnwrapped);
  EXPECT_EQ(words(R"({"id":98765,"__deleted":"false","__op":"c","__source_ts_ms":1})"), kUnwrapped);
  EXPECT_EQ(words(R"({"id":98765,"status":"END"})"), kUnwrapped);
  // Of an outbox, not notifications.
  EXPECT_EQ(words(R"({"id":"98765","aggregate_type":"Order","type":"A","additional_data":null})"),
            kUnwrapped);
  EXPECT_EQ(words(R"({"id":"98765","aggregate_type":"Initial Snapshot","type":"COMPLETED"})"),
            kUnwrapped);
  EXPECT_EQ(words(R"({"ts_ms":98765,"type":null})"), kUnwrapped);
  EXPECT_EQ(words(R"({"before":null,"after":)" + kRow + R"(,"op":"c","ts_ms":1})"), kUnwrapped);
  EXPECT_EQ(words(R"({"schema":{"type":"string"},"payload":"98765"})"), kUnwrapped);
  EXPECT_TRUE(words("\0\0\0\0\1\x12"
                    "98765"s)
                  .starts_with("a message is in Avro, Protobuf"));
  EXPECT_TRUE(words("98765").starts_with("a message is not a JSON object"));
  EXPECT_TRUE(words("").starts_with("a message is not a JSON object"));
  EXPECT_EQ(words(R"({"id":"98765","source":"/debezium/mysql/shop","specversion":"1.0","data":)" +
                  kRow + "}"),
            "a message is a CloudEvent: set debezium.format.value=json");
  EXPECT_TRUE(
      refused(created(kRow), "Struct{id=98765}").what.starts_with("a message is not a JSON"));
}

TEST(Refusals, name_a_connector_that_nobody_has_seen) {
  for (const char* const connector : {"db2", "mongodb", "vitess", "spanner", "cassandra"}) {
    EXPECT_EQ(words(replaced(created(kRow), "\"mysql\"", "\"" + std::string(connector) + "\"")),
              "the connector is \"" + std::string(connector) +
                  "\", whose messages nobody has seen with this guard yet; it reads those of "
                  "mysql, mariadb, postgresql, sqlserver and oracle");
  }
}

TEST(Refusals, name_what_a_message_lacks) {
  EXPECT_EQ(words(replaced(created(kRow), R"("file":"mysql-bin.000003")", R"("file":null)")),
            "a message's source block has no `file` that is one, by which changes are ordered");
  EXPECT_EQ(words(replaced(created(kRow), R"("name":"shop")", R"("name":"")")),
            "a message's source block has no name, or one of more than 1,024 bytes");
  EXPECT_EQ(words(replaced(created(kRow), R"("snapshot":"false")", R"("snapshot":"half")")),
            "a message's source block has the snapshot \"half\", which is not known");
  EXPECT_EQ(words(replaced(created(kRow), R"("op":"c")", R"("op":"x98765")")),
            "a message has the op of another length, which is not known");
  EXPECT_EQ(words(replaced(created(kRow), R"("op":"c")", R"("op":"x")")),
            "a message has the op \"x\", which is not known");
  EXPECT_EQ(words(replaced(created(kRow), R"("after":)" + kRow, R"("after":null)")),
            "a message of a row that exists has no `after`");
}

TEST(Refusals, concern_one_table_where_they_can) {
  EXPECT_EQ(refused(created(R"({"id":"98765"})")).table, 0U);
  EXPECT_EQ(refused(kRow).table, std::nullopt);
}

TEST(Refusals, of_a_column_name_it_and_what_to_declare) {
  EXPECT_EQ(words(created(R"({"id":"98765"})")),
            "column id is a string in a message without a schema, which may stand for several "
            "things; declare its type, or let the connector send schemas (schemas.enable=true)");
  EXPECT_EQ(words(created(R"({"id":-98765})")).substr(0, 22), "column id is negative,");
}

TEST(Refusals, are_of_a_member_that_is_there_twice) {
  EXPECT_EQ(words(created(R"({"id":1,"id":98765})")), "a row has a column twice");
  EXPECT_EQ(words(replaced(created(kRow), R"("op":"c")", R"("op":"c","op":"d")")),
            "a message has a member twice");
  EXPECT_EQ(words(replaced(created(kRow), R"("op":"c")", R"("op":"c","after":null)")),
            "a message has a member twice");
  EXPECT_EQ(words(replaced(created(kRow), R"("op":"c")", R"("op":"c","source":{})")),
            "a message has a member twice");
  EXPECT_EQ(words(replaced(created(kRow), R"("pos":484)", R"("pos":484,"pos":485)")),
            "a message's source block has a member twice");
  EXPECT_EQ(words(R"({"id":"1","aggregate_type":"Initial Snapshot","type":"SKIPPED",)"
                  R"("additional_data":{"status":"98765","status":"98765"}})"),
            "a notification has a member twice");
}

TEST(Refusals, are_of_every_part_of_a_message) {
  const std::string whole = created(kRow);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    refused(whole.substr(0, bytes));
  }
  const std::string wrapped =
      with_schema(R"({"type":"int64","optional":false,"field":"id"})", created(R"({"id":5})"));
  for (std::size_t bytes = 0; bytes < wrapped.size(); ++bytes) {
    refused(wrapped.substr(0, bytes));
  }
}

TEST(Refusals, are_of_what_is_behind_a_message) {
  for (const char* const more : {"}", ",", "{}", R"("x")"}) {
    EXPECT_EQ(words(created(kRow) + more), "a message is not valid JSON");
    EXPECT_EQ(
        refused(created(R"({"id":5})"), R"({"schema":null,"payload":{"id":5}})" + std::string(more))
            .what,
        "a message is not valid JSON");
  }
}

std::string shape(std::string_view value, std::optional<std::string_view> key = {}) {
  const std::string text = shape_of({.key = key, .value = value});
  EXPECT_EQ(text.find(kSecret), std::string::npos) << text;
  return text;
}

TEST(Refusals, are_of_messages_whose_shape_is_told_without_values) {
  const std::string names =
      "{version,connector,name,ts_ms,snapshot,ts_us,ts_ns,db,sequence,table,server_id,gtid,file,"
      "pos,row,thread,query}";
  const std::string envelope =
      "{before,after {id,name},source " + names + ",transaction,op,ts_ms,ts_us,ts_ns}";
  EXPECT_EQ(shape(created(kRow), R"({"id":98765})"),
            "op c of mysql, inventory.customers; key {id}; value " + envelope);
  const std::string fields = R"({"type":"int64","optional":false,"field":"id"})";
  EXPECT_EQ(
      shape(with_schema(fields, created(kRow)), key_with_schema(fields, R"({"id":98765})")),
      "op c of mysql, inventory.customers; key {schema,payload {id}}; value {schema,payload " +
          envelope + "}");
  EXPECT_EQ(shape(replaced(created(kRow), R"("op":"c")", R"("op":"98765")")).substr(0, 20),
            "no known op of mysql");

  // Not of a connector: whatever is in it may be a row's.
  EXPECT_EQ(shape(R"({"id":1,"op":"98765","source":"98765","a b":"98765"})", "98765"),
            R"(key of 5 bytes, not a JSON object; value {id,op,source,"a b"})");
  EXPECT_EQ(shape(R"({"after":{"98765":1},"payload":{"98765":1}})"),
            "no key; value {after,payload}");
  EXPECT_EQ(
      shape(replaced(created(R"({"map":{"98765":1},"after":{"98765":2}})"), "mysql", "98765")),
      "no key; value " + replaced(envelope, "{id,name}", "{map,after}"));
  EXPECT_EQ(shape(R"({"op":"c","source":{"connector":"98765","table":"98765"}})"),
            "no key; value {op,source {connector,table}}");
  EXPECT_EQ(shape_of({}), "no key; no value");
}

TEST(Refusals, are_of_messages_whose_shape_is_bounded) {
  const std::string whole = created(kRow);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_LE(shape(whole.substr(0, bytes)).size(), kShapeBytesMax);
  }
  EXPECT_TRUE(shape(whole.substr(0, whole.find("source"))).ends_with("not a JSON object"));
  EXPECT_EQ(shape(R"({"id":98765,"b":]})"), "no key; value {id,b...");
  std::string wide;
  for (int i = 0; i < 1000; ++i) {
    wide += (i == 0 ? "\"column" : ",\"column") + std::to_string(i) + "\":98765";
  }
  const std::string text = shape(created("{" + wide + "}"));
  EXPECT_EQ(text.size(), kShapeBytesMax);
  EXPECT_TRUE(text.ends_with("...")) << text;
  EXPECT_LE(shape("{\"" + std::string(100'000, 'x') + "\":1}").size(), 200U);
}

TEST(Refusals, leave_the_decoder_as_it_was) {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  const std::string expected = "create 0 to (98765) at mysql shop mysql-bin.000003 484 0";
  for (const std::string& wrong :
       {kRow, ""s, created(R"({"id":"x"})"), created("{"), R"({"schema":{},"payload":{}})"s}) {
    EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = created(kRow)})), expected);
    EXPECT_FALSE(decoder.decode({.key = {}, .value = wrong}));
  }
  EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = created(kRow)})), expected);
}

}  // namespace
}  // namespace cuckooguard::debezium
