// Messages in the format that Debezium documents, and what is decoded of them in words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debezium/decoder.h"

namespace cuckooguard::debezium {

using keyspace::ValueType;

// The `source` block of a change; `more` is what one message has instead of another.
inline std::string source_of(Connector connector,
                             std::string_view more,
                             std::string_view snapshot = "false") {
  const std::string front =
      R"({"version":"3.0.8.Final","connector":")" + std::string(name_of(connector)) +
      R"(","name":"shop","ts_ms":1559033904863,"snapshot":")" + std::string(snapshot) +
      R"(","ts_us":1559033904863000,"ts_ns":1559033904863000000,)";
  switch (connector) {
    case Connector::mysql:
    case Connector::mariadb:
      return front + R"("db":"inventory","sequence":null,"table":"customers","server_id":223344,)" +
             std::string(more) + R"(,"thread":7,"query":null})";
    case Connector::postgresql:
      return front + R"("db":"postgres","schema":"public","table":"customers","txId":556,)" +
             std::string(more) + R"(,"xmin":null})";
    case Connector::sqlserver:
      return front + R"("db":"testDB","schema":"dbo","table":"customers",)" + std::string(more) +
             "}";
    case Connector::oracle:
      break;
  }
  return front + R"("db":"ORCLPDB1","schema":"DEBEZIUM","table":"CUSTOMERS","txId":"6.28.807",)" +
         std::string(more) + R"(,"redo_thread":1,"user_name":"SYS"})";
}

// The value of a change.
inline std::string envelope_of(std::string_view op,
                               std::string_view before,
                               std::string_view after,
                               std::string_view source) {
  return R"({"before":)" + std::string(before) + R"(,"after":)" + std::string(after) +
         R"(,"source":)" + std::string(source) + R"(,"transaction":null,"op":")" + std::string(op) +
         R"(","ts_ms":1559033904961,"ts_us":1559033904961654,"ts_ns":1559033904961654789})";
}

// The JSON converter's form with a schema, of a table whose fields these are.
inline std::string with_schema(std::string_view fields, std::string_view payload) {
  const auto row = [fields](std::string_view name) {
    return R"({"type":"struct","fields":[)" + std::string(fields) +
           R"(],"optional":true,"name":"shop.inventory.customers.Value","field":")" +
           std::string(name) + R"("})";
  };
  return R"({"schema":{"type":"struct","fields":[)" + row("before") + "," + row("after") +
         R"(,{"type":"string","optional":false,"field":"op"}],"optional":false,)"
         R"("name":"shop.inventory.customers.Envelope","version":2},"payload":)" +
         std::string(payload) + "}";
}

inline std::string key_with_schema(std::string_view fields, std::string_view payload) {
  return R"({"schema":{"type":"struct","fields":[)" + std::string(fields) +
         R"(],"optional":false,"name":"shop.inventory.customers.Key"},"payload":)" +
         std::string(payload) + "}";
}

inline Column column(std::string name, ValueType type) {
  return {.name = std::move(name), .placeholders = {type}};
}

inline Wanted one_table(std::vector<Column> columns, std::string name = "customers") {
  return {.tables = {{.name = std::move(name), .columns = std::move(columns)}}};
}

inline std::string words_of(const Row& row) {
  std::string words;
  for (const Value& value : row) {
    words += words.empty() ? "" : ",";
    switch (value.state) {
      case Value::State::missing:
        words += "-";
        break;
      case Value::State::null:
        words += "NULL";
        break;
      case Value::State::unavailable:
        words += "?";
        break;
      case Value::State::text:
        words += value.text;
        break;
    }
  }
  return words;
}

inline std::string name_of(Op op) {
  switch (op) {
    case Op::create:
      return "create";
    case Op::read:
      return "read";
    case Op::update:
      return "update";
    case Op::remove:
      return "remove";
    case Op::truncate:
      return "truncate";
    case Op::tombstone:
      return "tombstone";
    case Op::heartbeat:
      return "heartbeat";
    case Op::transaction:
      return "transaction";
    case Op::schema_change:
      return "schema change";
    case Op::message:
      return "message";
    case Op::notification:
      return "notification";
    case Op::other_table:
      break;
  }
  return "other table";
}

// `3 of shop.t, 5 rows`
inline std::string words_of(const Notification& notification) {
  std::string words = std::to_string(static_cast<int>(notification.type));
  const auto add = [&words](std::string_view what, std::string_view value) {
    words += value.empty() ? "" : " " + std::string(what) + " " + std::string(value);
  };
  add("incremental", notification.is_incremental ? notification.id : "");
  add("by", notification.connector);
  add("of", notification.collection);
  add("among", notification.collections);
  add("status", notification.status);
  add("rows", notification.rows ? std::to_string(*notification.rows) : "");
  add("at", notification.ms);
  return words;
}

// `update 0 to (2) key {"id":1} at mysql shop mysql-bin.000003 484 0`
inline std::string words_of(const Change& change) {
  std::string words = name_of(change.op);
  if (change.table) {
    words += " " + std::to_string(*change.table);
  }
  if (!change.after.empty()) {
    words += " to (" + words_of(change.after) + ")";
  }
  if (!change.key_json.empty()) {
    words += " key " + std::string(change.key_json);
  }
  if (change.position && change.origin != nullptr) {
    words += " at " + Place{.origin = *change.origin, .position = *change.position}.text();
  }
  return words;
}

inline std::string words_of(const std::expected<Change, Refusal>& result) {
  return result ? words_of(*result) : "refused: " + result.error().what;
}

}  // namespace cuckooguard::debezium
