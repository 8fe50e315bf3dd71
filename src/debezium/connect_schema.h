// The schema that Kafka Connect's JSON converter puts in front of a payload: what it says of the
// columns that are asked for.
//
// Threads: free functions. Errors: words that go on from a column's name, or a sentence.
// Source: Kafka's JsonConverter, JsonSchema.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debezium/column_type.h"
#include "debezium/json_document.h"

namespace cuckooguard::debezium {

// A column of a key, for somebody who begins with its table.
struct KeyColumn {
  std::string name;
  // That it may serve. Nothing: none, or a message without a schema does not say what it is.
  std::optional<keyspace::ValueType> placeholder{};
};

// Of a message's key, with or without its schema.
std::expected<std::vector<KeyColumn>, std::string> key_columns(std::string_view key,
                                                               Connector connector);

// How one column's values are read.
struct ColumnPlan {
  Connector connector = Connector::mysql;
  ColumnType type{};
  // Until the schema says what it is.
  std::optional<std::string> refused = " is not in the schema of its table";
};

using ColumnPlans = std::vector<ColumnPlan>;

ColumnPlans plans_without_schema(std::span<const Column> columns, Connector connector);

// `schema`: the place of an object, an envelope's schema.
std::expected<ColumnPlans, std::string> plans_of(Document& document,
                                                 Document::Index schema,
                                                 std::span<const Column> columns,
                                                 Connector connector);

}  // namespace cuckooguard::debezium
