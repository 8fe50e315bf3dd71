#include "debezium/decoder.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "made_messages.h"

namespace cuckooguard::debezium {
namespace {

using namespace std::string_literals;

std::string source_in(std::string_view database, std::string_view schema, std::string_view table) {
  return R"({"connector":"postgresql","name":"shop","db":")" + std::string(database) +
         R"(","schema":")" + std::string(schema) + R"(","table":")" + std::string(table) +
         R"(","sequence":"[\"1\",\"2\"]","lsn":2})";
}

std::string created(std::string_view row, std::string_view source) {
  return envelope_of("c", "null", row, source);
}

TEST(Decoder, tells_tables_apart_by_what_is_asked_of_their_names) {
  const std::vector<Column> id = {column("id", ValueType::uint64)};
  const std::vector<Column> number = {column("number", ValueType::int64)};
  Decoder decoder({.tables = {{.schema = "public", .name = "orders", .columns = id},
                              {.database = "x", .schema = "old", .name = "orders", .columns = id},
                              {.name = "users", .columns = number}}});
  const std::string row = R"({"id":1,"number":-2})";
  const auto decode = [&](const std::string& source) {
    const auto change = decoder.decode({.key = {}, .value = created(row, source)});
    return change ? name_of(change->op) + " " + std::to_string(change->table.value_or(9)) + " " +
                        words_of(change->after)
                  : change.error().what;
  };
  // Each after another one, since the next row is expected to be of the same table.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(decode(source_in("x", "public", "orders")), "create 0 1");
    EXPECT_EQ(decode(source_in("y", "a", "users")), "create 2 -2");
    EXPECT_EQ(decode(source_in("x", "old", "orders")), "create 1 1");
    EXPECT_EQ(decode(source_in("y", "old", "orders")), "other table 9 ");
    EXPECT_EQ(decode(source_in("y", "public", "orders")), "create 0 1");
  }
}

TEST(Decoder, does_not_hold_one_table_s_columns_against_another_table_s_rows) {
  Decoder decoder({.tables = {{.name = "days", .columns = {column("c", ValueType::uint64)}},
                              {.name = "users", .columns = {column("c", ValueType::uuid)}}}});
  const auto decode = [&](std::string_view row, std::string_view table) {
    return words_of(
        decoder.decode({.key = {}, .value = created(row, source_in("x", "public", table))}));
  };
  const std::string uuid = R"({"c":"0b3ab9a2-0000-4000-8000-000000000001"})";
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(decode(R"({"c":1})", "days").starts_with("create 0 (1)") ||
                decode(R"({"c":1})", "days").starts_with("create 0 to (1)"));
    EXPECT_TRUE(decode(uuid, "users").starts_with("create 1 to (0b3ab9a2"));
    EXPECT_TRUE(decode(uuid, "days").starts_with("refused: column c is a string"));
    EXPECT_TRUE(decode(uuid, "users").starts_with("create 1 to (0b3ab9a2"));
  }
}

TEST(Decoder, forgets_a_row_whose_connector_differs_from_the_last_one_s) {
  Decoder decoder(one_table({Column{.name = "c", .is_compared = true}}));
  const auto decode = [&](Connector connector, std::string_view more) {
    return words_of(
        decoder.decode({.key = {}, .value = created(R"({"c":true})", source_of(connector, more))}));
  };
  const std::string binlog = R"("gtid":null,"file":"bin.1","pos":4,"row":0)";
  const std::string wal = R"("sequence":"[\"1\",\"2\"]","lsn":2)";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(decode(Connector::mysql, binlog), "create 0 to (1) at mysql shop bin.000001 4 0");
    EXPECT_EQ(decode(Connector::postgresql, wal), "create 0 to (t) at postgresql shop 0/1 0/2");
  }
}

TEST(Decoder, finds_columns_whose_names_are_escaped_in_json) {
  const std::string odd = "a\"\\\n\x01\u00e9";
  Decoder decoder(one_table({column(odd, ValueType::uint64), column("a", ValueType::uint64)}));
  const auto change =
      decoder.decode({.key = {},
                      .value = created("{\"a\\\"\\\\\\n\\u0001\u00e9\":7,\"ab\":8,\"a\":9}",
                                       source_in("x", "public", "customers"))});
  ASSERT_TRUE(change) << change.error().what;
  EXPECT_EQ(words_of(change->after), "7,9");
}

TEST(Decoder, takes_columns_called_schema_and_payload_for_columns) {
  Decoder decoder(
      one_table({column("schema", ValueType::uint64), column("payload", ValueType::uint64)}));
  const std::string source = source_in("x", "public", "customers");
  const std::string row = R"({"schema":1,"payload":2})";
  EXPECT_EQ(words_of(decoder.decode({.key = row, .value = created(row, source)})),
            "create 0 to (1,2) key " + row + " at postgresql shop 0/1 0/2");
  for (const char* const key : {R"({"schema":null,"payload":{},"id":1})",
                                R"({"schema":null,"payload":2})",
                                R"({"schema":"x","payload":{}})"}) {
    EXPECT_EQ(words_of(decoder.decode({.key = key, .value = {}})), "tombstone key "s + key);
  }
}

TEST(Decoder, reads_a_payload_whose_schema_is_null) {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  const std::string value = R"({"schema":null,"payload":)" +
                            created(R"({"id":1})", source_in("x", "public", "customers")) + "}";
  EXPECT_EQ(
      words_of(decoder.decode({.key = R"({"schema":null,"payload":{"id":1}})", .value = value})),
      R"(create 0 to (1) key {"id":1} at postgresql shop 0/1 0/2)");
  EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = R"({"schema":null,"payload":null})"})),
            "tombstone");
}

TEST(Decoder, takes_a_key_s_payload_as_it_stands) {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  const std::string field = R"({"type":"string","optional":false,"field":"id"})";
  const std::string row = R"({"b\u0061" : "\u0031", "id":[ "x" ]})";
  for (const std::string& key : {row, key_with_schema(field, " " + row + " ")}) {
    EXPECT_EQ(words_of(decoder.decode({.key = key, .value = {}})), "tombstone key " + row);
  }
}

TEST(Decoder, skips_what_a_row_was_before) {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  const std::string source = source_in("x", "public", "customers");
  const auto decode = [&](std::string_view op, std::string_view after) {
    return words_of(decoder.decode(
        {.key = {}, .value = envelope_of(op, R"({"id":"x","id":-1})", after, source)}));
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(decode("r", R"({"id":1})"), "read 0 to (1) at postgresql shop 0/1 0/2");
    EXPECT_EQ(decode("u", R"({"id":2})"), "update 0 to (2) at postgresql shop 0/1 0/2");
    EXPECT_EQ(decode("d", "null"), "remove 0 at postgresql shop 0/1 0/2");
  }
}

TEST(Decoder, keeps_no_more_than_a_table_s_schema_and_reads_large_ones_each_time) {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  std::string fields = R"({"type":"int64","optional":false,"field":"id"})";
  while (fields.size() <= kSchemaBytesKept) {
    fields +=
        R"(,{"type":"string","optional":true,"field":"c)" + std::to_string(fields.size()) + R"("})";
  }
  const std::string value = with_schema(
      fields,
      envelope_of("u", R"({"id":1})", R"({"id":2})", source_in("x", "public", "customers")));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = value})),
              "update 0 to (2) at postgresql shop 0/1 0/2");
  }
}

TEST(Decoder, decodes_messages_up_to_its_limit_and_refuses_larger_ones) {
  Decoder decoder(one_table({column("id", ValueType::uint64)}));
  const std::string source = source_in("x", "public", "customers");
  const std::string rest = created(R"({"id":1,"text":""})", source);
  const auto of_size = [&](std::size_t bytes) {
    return created(R"({"id":1,"text":")" + std::string(bytes - rest.size(), 'x') + R"("})", source);
  };
  EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = of_size(kMessageBytesMax)})),
            "create 0 to (1) at postgresql shop 0/1 0/2");
  EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = of_size(kMessageBytesMax + 1)})),
            "refused: a message is larger than 16 MiB");
  EXPECT_EQ(words_of(decoder.decode({.key = {}, .value = rest})),
            "create 0 to (1) at postgresql shop 0/1 0/2");
}

TEST(Decoder, can_be_moved_and_is_not_made_for_too_much) {
  Decoder first(one_table({column("id", ValueType::uint64)}));
  Decoder second = std::move(first);
  EXPECT_TRUE(second.decode(
      {.key = {}, .value = created(R"({"id":1})", source_in("x", "public", "customers"))}));
  EXPECT_THROW(Decoder({.tables = std::vector<Table>(kTablesMax + 1)}), std::invalid_argument);
  EXPECT_THROW(Decoder(one_table(std::vector<Column>(kColumnsMax + 1))), std::invalid_argument);
}

}  // namespace
}  // namespace cuckooguard::debezium
