// What each kind of message of each connector does, in the format that Debezium documents.
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "debezium/decoder.h"
#include "made_messages.h"

namespace cuckooguard::debezium {
namespace {

constexpr std::string_view kAnne =
    R"({"id":1004,"first_name":"Anne","last_name":"Kretchmar","email":"annek@example.org"})";
constexpr std::string_view kMarie =
    R"({"id":1004,"first_name":"Marie","last_name":"Kretchmar","email":"annek@example.org"})";

struct Golden {
  std::string what;
  std::string value;  // empty: none
  std::string expected;
  std::string key = R"({"id":1004})";
};

void expect(const Wanted& wanted, const std::vector<Golden>& messages) {
  Decoder decoder(wanted);
  for (const Golden& each : messages) {
    const auto result = decoder.decode(
        {.key = each.key,
         .value = each.value.empty() ? std::nullopt : std::optional<std::string_view>(each.value)});
    EXPECT_EQ(words_of(result), each.expected) << each.what;
  }
}

std::vector<Column> id_and_name() {
  Column name = column("first_name", ValueType::text_ci);
  name.declared = declared_type("string");
  return {column("id", ValueType::uint64), name};
}

Wanted customers(std::string name = "customers") {
  return one_table(id_and_name(), std::move(name));
}

TEST(GoldenMessages, of_mysql_and_mariadb) {
  for (const Connector connector : {Connector::mysql, Connector::mariadb}) {
    const std::string name(name_of(connector));
    const auto at = [connector](std::string_view pos,
                                std::string_view snapshot = "false",
                                std::string_view gtid = "null") {
      return source_of(connector,
                       R"("gtid":)" + std::string(gtid) + R"(,"file":"mysql-bin.000003","pos":)" +
                           std::string(pos) + R"(,"row":0)",
                       snapshot);
    };
    expect(
        customers(),
        {{"a row of the first snapshot",
          envelope_of("r", "null", kAnne, at("154", "true")),
          R"(read 0 to (1004,Anne) key {"id":1004} at )" + name + " shop mysql-bin.000003 154 0"},
         {"an insert",
          envelope_of("c", "null", kAnne, at("400")),
          R"(create 0 to (1004,Anne) key {"id":1004} at )" + name + " shop mysql-bin.000003 400 0"},
         {"an update",
          envelope_of("u", kAnne, kMarie, at("484")),
          R"(update 0 to (1004,Marie) key {"id":1004} at )" + name +
              " shop mysql-bin.000003 484 0"},
         {"a delete",
          envelope_of("d", kMarie, "null", at("805")),
          R"(remove 0 key {"id":1004} at )" + name + " shop mysql-bin.000003 805 0"},
         {"its tombstone", "", R"(tombstone key {"id":1004})"},
         {"a truncate",
          R"({"source":)" + at("900") + R"(,"op":"t","ts_ms":1559033904961,"ts_us":1,"ts_ns":1})",
          "truncate 0 at " + name + " shop mysql-bin.000003 900 0"},
         {"an incremental snapshot's row",
          envelope_of("r", "null", kAnne, at("900", "incremental")),
          R"(read 0 to (1004,Anne) key {"id":1004} at )" + name + " shop mysql-bin.000003 900 0"}});
  }
}

TEST(GoldenMessages, of_postgresql) {
  const auto at = [](std::string_view sequence, std::string_view snapshot = "false") {
    return source_of(Connector::postgresql,
                     R"("sequence":")" + std::string(sequence) + R"(","lsn":24023128)",
                     snapshot);
  };
  const std::string next = R"([\"24023119\",\"24023128\"])";
  expect(customers(),
         {{"a row of the first snapshot",
           envelope_of("r", "null", kAnne, at(R"([null,\"24023128\"])", "first")),
           R"(read 0 to (1004,Anne) key {"id":1004} at postgresql shop 0/0 0/16E9058)"},
          {"an insert",
           envelope_of("c", "null", kAnne, at(next)),
           R"(create 0 to (1004,Anne) key {"id":1004} at postgresql shop 0/16E904F 0/16E9058)"},
          {"an update, with a replica identity other than FULL",
           envelope_of("u", "null", kMarie, at(next)),
           R"(update 0 to (1004,Marie) key {"id":1004} at postgresql shop 0/16E904F 0/16E9058)"},
          {"an update, with FULL",
           envelope_of("u", kAnne, kMarie, at(next)),
           R"(update 0 to (1004,Marie) key {"id":1004} at postgresql shop 0/16E904F )"
           "0/16E9058"},
          {"a delete, which has the key alone",
           envelope_of("d", R"({"id":1004,"first_name":null})", "null", at(next)),
           R"(remove 0 key {"id":1004} at postgresql shop 0/16E904F 0/16E9058)"},
          {"its tombstone", "", R"(tombstone key {"id":1004})"},
          {"an update that has not touched a long value",
           envelope_of(
               "u", "null", R"({"id":1004,"first_name":"__debezium_unavailable_value"})", at(next)),
           R"(update 0 to (1004,?) key {"id":1004} at postgresql shop 0/16E904F 0/16E9058)"},
          {"a truncate",
           R"({"source":)" + at(next) + R"(,"op":"t","ts_ms":1559033904961})",
           "truncate 0 at postgresql shop 0/16E904F 0/16E9058"},
          {"pg_logical_emit_message",
           R"({"op":"m","ts_ms":1559033904863,"source":)" + at(next) +
               R"(,"message":{"prefix":"foo","content":"Ymfy"}})",
           "message at postgresql shop 0/16E904F 0/16E9058",
           R"({"prefix":"foo"})"},
          {"an incremental snapshot's row, which has no lsn",
           envelope_of("r",
                       "null",
                       kAnne,
                       source_of(Connector::postgresql,
                                 R"("sequence":"[\"24023119\",\"24023128\"]")",
                                 "incremental")),
           R"(read 0 to (1004,Anne) key {"id":1004} at postgresql shop 0/16E904F 0/16E9058)"}});
}

TEST(GoldenMessages, of_sql_server) {
  const auto at =
      [](std::string_view change, std::string_view serial, std::string_view snapshot = "false") {
        return source_of(Connector::sqlserver,
                         R"("change_lsn":)" + std::string(change) +
                             R"(,"commit_lsn":"00000027:00000758:0005","event_serial_no":)" +
                             std::string(serial),
                         snapshot);
      };
  const std::string change = R"("00000027:00000758:0003")";
  const std::string place =
      " at sqlserver shop testDB 00000027:00000758:0005 00000027:00000758:0003 ";
  expect(
      customers(),
      {{"a row of the first snapshot",
        envelope_of("r", "null", kAnne, at("null", "null", "true")),
        R"(read 0 to (1004,Anne) key {"id":1004} at sqlserver shop testDB 00000027:00000758:0005 )"
        "00000000:00000000:0000 0"},
       {"an insert",
        envelope_of("c", "null", kAnne, at(change, "1")),
        R"(create 0 to (1004,Anne) key {"id":1004})" + place + "1"},
       {"an update",
        envelope_of("u", kAnne, kMarie, at(change, "2")),
        R"(update 0 to (1004,Marie) key {"id":1004})" + place + "2"},
       {"a delete",
        envelope_of("d", kMarie, "null", at(change, "1")),
        R"(remove 0 key {"id":1004})" + place + "1"},
       {"its tombstone", "", R"(tombstone key {"id":1004})"},
       {"an incremental snapshot's row",
        envelope_of("r", "null", kAnne, at("null", "null", "incremental")),
        R"(read 0 to (1004,Anne) key {"id":1004} at sqlserver shop testDB 00000027:00000758:0005 )"
        "00000000:00000000:0000 0"}});
}

TEST(GoldenMessages, of_oracle) {
  constexpr std::string_view kRow =
      R"({"ID":1004,"FIRST_NAME":"Anne","EMAIL":"annek@example.org"})";
  const auto at = [](std::string_view more, std::string_view snapshot = "false") {
    return source_of(Connector::oracle, more, snapshot);
  };
  const std::string change = at(R"("scn":"2122185","commit_scn":"2122190","lcr_position":null,)"
                                R"("rs_id":"0x00002a.00001b42.0010","ssn":1)");
  const std::string place = " at oracle shop 2122190 2122185 00002a.00001b42.0010 1";
  expect(
      one_table({column("ID", ValueType::uint64)}, "CUSTOMERS"),
      {{"a row of the first snapshot",
        envelope_of("r", "null", kRow, at(R"("scn":"2122184","commit_scn":null,"ssn":0)", "last")),
        R"(read 0 to (1004) key {"ID":1004} at oracle shop 2122184 end)",
        R"({"ID":1004})"},
       {"an insert",
        envelope_of("c", "null", kRow, change),
        R"(create 0 to (1004) key {"ID":1004})" + place,
        R"({"ID":1004})"},
       {"an update",
        envelope_of("u", kRow, kRow, change),
        R"(update 0 to (1004) key {"ID":1004})" + place,
        R"({"ID":1004})"},
       {"a delete",
        envelope_of("d", kRow, "null", change),
        R"(remove 0 key {"ID":1004})" + place,
        R"({"ID":1004})"},
       {"its tombstone", "", R"(tombstone key {"ID":1004})", R"({"ID":1004})"},
       {"a truncate",
        R"({"source":)" + change + R"(,"op":"t","ts_ms":1559033904961})",
        "truncate 0" + place,
        "null"},
       {"an incremental snapshot's row",
        envelope_of("r", "null", kRow, at(R"("scn":"2122184","commit_scn":null)", "incremental")),
        R"(read 0 to (1004) key {"ID":1004} at oracle shop 2122184 end)",
        R"({"ID":1004})"}});
}

TEST(GoldenMessages, that_are_no_changes_of_rows) {
  const std::string source =
      source_of(Connector::mysql, R"("gtid":null,"file":"mysql-bin.000003","pos":570,"row":0)");
  Decoder decoder(customers());
  const auto decode = [&decoder](std::string_view key, std::string_view value) {
    return decoder.decode({.key = key, .value = value});
  };

  const auto heartbeat = decode(R"({"serverName":"shop"})", R"({"ts_ms":1559033904961})");
  EXPECT_EQ(words_of(heartbeat), "heartbeat");
  EXPECT_EQ(number_in(heartbeat->connector_ms), 1559033904961U);
  EXPECT_EQ(
      words_of(decode(R"({"serverName":"shop"})", R"({"ts_ms":1,"ts_us":1000,"ts_ns":1000000})")),
      "heartbeat");
  EXPECT_EQ(words_of(decode(R"({"schema":{"type":"struct"},"payload":{"serverName":"shop"}})",
                            R"({"schema":{"type":"struct"},"payload":{"ts_ms":1}})")),
            "heartbeat");

  const auto begin = decode(R"({"id":"571:53195829"})",
                            R"({"status":"BEGIN","id":"571:53195829","event_count":null,)"
                            R"("data_collections":null,"ts_ms":1486500577125})");
  EXPECT_EQ(words_of(begin), "transaction");
  EXPECT_FALSE(begin->transaction.is_end);
  EXPECT_EQ(begin->transaction.id, "571:53195829");
  const auto end = decode(R"({"id":"571:53195829"})",
                          R"({"status":"END","id":"571:53195829","event_count":2,)"
                          R"("data_collections":[{"data_collection":"a.b","event_count":2}],)"
                          R"("ts_ms":1486500577691})");
  EXPECT_EQ(words_of(end), "transaction");
  EXPECT_TRUE(end->transaction.is_end);
  EXPECT_EQ(end->transaction.events, 2U);
  const auto wrapped = decode(R"({"schema":{"type":"struct"},"payload":{"id":"571:53195829"}})",
                              R"({"schema":{"type":"struct"},"payload":{"status":"END",)"
                              R"("id":"571:53195829","event_count":2,"data_collections":[],)"
                              R"("ts_ms":1486500577691}})");
  EXPECT_EQ(words_of(wrapped), "transaction");
  EXPECT_EQ(wrapped->transaction.events, 2U);

  const auto altered =
      decode(R"({"databaseName":"inventory"})",
             R"({"source":)" + source +
                 R"(,"ts_ms":1,"databaseName":"inventory","schemaName":null,"ddl":"ALTER TABLE )"
                 R"(customers ADD x int","tableChanges":[{"type":"ALTER","id":"\"a\".\"b\""}]})");
  EXPECT_EQ(words_of(altered), "schema change at mysql shop mysql-bin.000003 570 0");
  EXPECT_EQ(altered->name.table, "customers");

  EXPECT_EQ(words_of(decode(R"({"id":1})",
                            envelope_of("c",
                                        "null",
                                        R"({"id":1})",
                                        R"({"connector":"mysql","name":"shop","db":"inventory",)"
                                        R"("table":"orders","file":"bin.1","pos":4,"row":2})"))),
            "other table at mysql shop bin.000001 4 2");
}

// MySQL has 16 bytes for it as UUID_TO_BIN() gives them, or with 1 as its second argument.
TEST(GoldenMessages, of_uuids_in_binary_columns) {
  const std::string uuid = "6ccd780c-baba-1026-9564-5b8c656024db";
  const auto text = [](Connector connector, std::string_view base64, bool is_swapped) {
    Column id = column("id", ValueType::uuid);
    id.swaps_uuids = is_swapped;
    const bool is_oracle = connector == Connector::oracle;
    Decoder decoder(one_table({id}, is_oracle ? "CUSTOMERS" : "customers"));
    const std::string place = is_oracle ? R"("scn":"1","commit_scn":"2","rs_id":"1.2.3","ssn":0)"
                                        : R"("gtid":null,"file":"bin.1","pos":4,"row":0)";
    const std::string field = R"({"type":"bytes","optional":false,"field":"id"})";
    const std::string row = R"({"id":")" + std::string(base64) + R"("})";
    const auto change = decoder.decode(
        {.key = key_with_schema(field, row),
         .value = with_schema(field, envelope_of("c", "null", row, source_of(connector, place)))});
    EXPECT_TRUE(change) << change.error().what;
    EXPECT_EQ(change->key_json, row);
    return words_of(change->after);
  };
  for (const Connector connector : {Connector::mysql, Connector::mariadb, Connector::oracle}) {
    EXPECT_EQ(text(connector, "bM14DLq6ECaVZFuMZWAk2w==", false), uuid);
  }
  EXPECT_EQ(text(Connector::mysql, "ECa6umzNeAyVZFuMZWAk2w==", true), uuid);
}

TEST(GoldenMessages, of_a_primary_key_that_changes) {
  struct Connected {
    Connector connector;
    std::string place;
    std::string at;
  };
  for (const Connected& each : std::initializer_list<Connected>{
           {Connector::mysql,
            R"("gtid":null,"file":"mysql-bin.000003","pos":484,"row":0)",
            " at mysql shop mysql-bin.000003 484 0"},
           {Connector::mariadb,
            R"("gtid":"0-1-7","file":"mysql-bin.000003","pos":484,"row":0)",
            " at mariadb shop mysql-bin.000003 484 0"},
           {Connector::postgresql,
            R"("sequence":"[\"24023119\",\"24023128\"]","lsn":24023128)",
            " at postgresql shop 0/16E904F 0/16E9058"},
           {Connector::sqlserver,
            R"("change_lsn":"27:758:3","commit_lsn":"27:758:5","event_serial_no":1)",
            " at sqlserver shop testDB 00000027:00000758:0005 00000027:00000758:0003 1"},
           {Connector::oracle,
            R"("scn":"2122185","commit_scn":"2122190","rs_id":"0x2a.1b42.0010","ssn":1)",
            " at oracle shop 2122190 2122185 00002a.00001b42.0010 1"}}) {
    const bool is_oracle = each.connector == Connector::oracle;
    const std::string source = source_of(each.connector, each.place);
    const std::string before = R"({"id":1004})";
    const std::string after = R"({"id":1005})";
    expect(
        one_table({column("id", ValueType::uint64)}, is_oracle ? "CUSTOMERS" : "customers"),
        {{"a delete", envelope_of("d", before, "null", source), "remove 0 key " + before + each.at},
         {"its tombstone", "", "tombstone key " + before},
         {"a create",
          envelope_of("c", "null", after, source),
          "create 0 to (1005) key " + after + each.at,
          after}});
  }
}

// The members and values are those of Debezium's Notification, and of the two services that make
// them.
TEST(GoldenMessages, that_notify_of_snapshots) {
  Decoder decoder(customers());
  const auto words =
      [&decoder](const std::string& about, const std::string& type, const std::string& details) {
        const std::string value = R"({"id":"ff81","type":")" + type + R"(","aggregate_type":")" +
                                  about + R"(","additional_data":)" + details +
                                  R"(,"timestamp":1695817046353})";
        const std::string wrapped =
            R"({"schema":{"type":"struct","fields":[{"type":"string","field":"id"},)"
            R"({"type":"map","keys":{"type":"string"},"values":{"type":"string"},"optional":true,)"
            R"("field":"additional_data"}],"name":"io.debezium.connector.common.Notification"},)"
            R"("payload":)" +
            value + "}";
        const std::string key = R"({"id":"ff81"})";
        const auto change = decoder.decode({.key = key, .value = wrapped});
        const std::string of_wrapped = words_of(change) + words_of(change->notification);
        const auto bare = decoder.decode({.key = key, .value = value});
        EXPECT_EQ(words_of(bare) + words_of(bare->notification), of_wrapped);
        EXPECT_FALSE(bare->table);
        EXPECT_TRUE(of_wrapped.starts_with("notification"));
        return words_of(bare->notification);
      };
  const auto first = [&words](const std::string& type, const std::string& details) {
    return words("Initial Snapshot", type, details);
  };
  const std::string by = R"({"connector_name":"shop")";
  EXPECT_EQ(first("STARTED", by + "}"), "0 by shop at 1695817046353");
  EXPECT_EQ(first("IN_PROGRESS",
                  by + R"(,"current_collection_in_progress":"a.b","data_collections":"a.b,a.c"})"),
            "1 by shop of a.b among a.b,a.c at 1695817046353");
  EXPECT_EQ(first("TABLE_SCAN_COMPLETED",
                  by + R"(,"scanned_collection":"a.b","data_collections":"a.b,a.c",)"
                       R"("total_rows_scanned":"0","status":"SUCCEEDED"})"),
            "2 by shop of a.b among a.b,a.c status SUCCEEDED rows 0 at 1695817046353");
  EXPECT_EQ(first("COMPLETED", by + "}"), "3 by shop at 1695817046353");
  EXPECT_EQ(first("ABORTED", by + "}"), "4 by shop at 1695817046353");
  EXPECT_EQ(first("SKIPPED", by + "}"), "5 by shop at 1695817046353");
  EXPECT_EQ(first("TABLE_CHUNK_COMPLETED", by + R"(,"chunk_index":"1"})"),
            "6 by shop at 1695817046353");
  EXPECT_EQ(first("COMPLETED", "null"), "3 at 1695817046353");
  EXPECT_EQ(words("Incremental Snapshot",
                  "TABLE_SCAN_COMPLETED",
                  by + R"(,"scanned_collection":"a.b","total_rows_scanned":"-1",)"
                       R"("status":"EMPTY"})"),
            "2 incremental ff81 by shop of a.b status EMPTY at 1695817046353");
}

TEST(GoldenMessages, tell_when_and_by_which_transaction) {
  Decoder decoder(customers());
  const auto change = decoder.decode(
      {.key = R"({"id":1004})",
       .value = envelope_of("c",
                            "null",
                            kAnne,
                            source_of(Connector::mysql,
                                      R"("gtid":"7bc1c9a6-9f4d-11ef-9a9e-0242ac110002:14",)"
                                      R"("file":"mysql-bin.000003","pos":484,"row":1)",
                                      "first_in_data_collection"))});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->gtid, "7bc1c9a6-9f4d-11ef-9a9e-0242ac110002:14");
  EXPECT_EQ(number_in(change->source_ms), 1559033904863U);
  EXPECT_EQ(number_in(change->connector_ms), 1559033904961U);
  EXPECT_EQ(change->snapshot, Snapshot::first_of_table);
  EXPECT_EQ(change->name.database, "inventory");
  EXPECT_EQ(change->key_json, R"({"id":1004})");
}

}  // namespace
}  // namespace cuckooguard::debezium
