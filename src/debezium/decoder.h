// Decodes messages as the connectors write them: Debezium's envelope in JSON, with or without its
// schema (`{"schema":…,"payload":…}`).
//
// Refused in words that say what to set: what ExtractNewRecordState ("unwrap") leaves of a message,
// Avro and Protobuf, CloudEvents, connectors whose messages nobody has seen here, columns whose
// text is not known (column_type.h), a member that is there twice.
//
// What is not asked for is skipped, as `before` is, since the key says which row it is: only UTF-8,
// quotes and the number of brackets are checked.
//
// Must: whatever is decoded is what the message says (tests/debezium, tests/fuzz). Aims: at least
// half of what simdjson alone reads of the same bytes (tests/debezium/debezium_bench).
//
// Threads: one. Lifetimes: a Change views the message and the decoder, until the next decode().
// Errors: a Refusal; the decoder is as before.
// Limits: key and value have kMessageBytesMax together. Memory: up to twelve bytes for each byte of
//   a message; buffers for more than kKeptBytesMax are given back by the next message. The last
//   schema of each table is kept, if it has up to kSchemaBytesKept; larger ones are read each time.
//   kTablesMax tables of kColumnsMax columns each: the constructor throws beyond. JSON may be
//   nested to any depth.
// Source: json_document.h.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "debezium/column_type.h"
#include "debezium/message.h"

namespace cuckooguard::debezium {

inline constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kKeptBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kSchemaBytesKept = std::size_t{64} << 10;
inline constexpr std::size_t kTablesMax = 4096;
inline constexpr std::size_t kColumnsMax = 64;

// A table that is asked for. A part of its name that is empty matches any.
struct Table {
  std::string database{};
  std::string schema{};
  std::string name;
  std::vector<Column> columns{};
};

struct Wanted {
  std::vector<Table> tables;
  std::string unavailable = "__debezium_unavailable_value";  // unavailable.value.placeholder
};

class Decoder {
 public:
  explicit Decoder(Wanted wanted);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  std::expected<Change, Refusal> decode(const Message& message);

 private:
  class Parts;  // decoder.cpp, where simdjson is
  std::unique_ptr<Parts> parts_;
};

}  // namespace cuckooguard::debezium
