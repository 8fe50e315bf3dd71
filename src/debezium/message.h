// A Debezium message as a value: what happened to which row, and where in the log.
//
// Threads: any.
// Lifetimes: views are into the message's bytes or the decoder, and valid until its next decode().
// Source: Debezium 3, "Data change events" of the MySQL, MariaDB, PostgreSQL, SQL Server and Oracle
//   connectors, "Sending signals", "Transaction metadata", "Notifications".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "debezium/position.h"

namespace cuckooguard::debezium {

// A record of Kafka, or an entry of a Redis stream (stream_entry.h).
struct Message {
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;  // nothing: a tombstone
};

enum class Op : std::uint8_t {
  create,
  read,    // a row of a snapshot: it existed, see Snapshot
  update,  // its primary key is as it was; else it comes as remove, tombstone, create
  remove,
  truncate,       // the connector leaves it out unless skipped.operations=none
  tombstone,      // after a remove, for Kafka's compaction: a key at most, no table, no place
  heartbeat,      // without a place: it proves nothing by itself
  transaction,    // BEGIN or END, of provide.transaction.metadata
  schema_change,  // of the topic that is called like the server, or of one per database
  message,        // PostgreSQL's pg_logical_emit_message
  notification,   // of the topic notification.sink.topic.name: how far a snapshot is
  other_table,    // a change of rows of a table that is not asked for
};

// What `source.snapshot` says.
enum class Snapshot : std::uint8_t {
  no,     // from the log
  first,  // the first row of all
  first_of_table,
  within,  // "true"
  last_of_table,
  last,         // of all: streaming begins
  incremental,  // of a chunk, between changes from the log
};

struct Value {
  // missing: the row has no such member. unavailable: unavailable.value.placeholder stands for it,
  // of a long value that the update has not touched (TOAST, LOB).
  enum class State : std::uint8_t { missing, null, unavailable, text };
  State state = State::missing;
  std::string_view text{};  // as keys have it (column_type.h)
};

// Of the columns that are asked for, in their order.
using Row = std::span<const Value>;

struct TableName {
  std::string_view database;
  std::string_view schema;  // empty: MySQL, MariaDB
  std::string_view table;
};

struct Transaction {
  bool is_end = false;
  std::string_view id;
  std::uint64_t events = 0;  // of END: all of its changes
};

// The connector sends COMPLETED after all of the snapshot's rows, but TABLE_SCAN_COMPLETED of the
// first snapshot before the table's last row, which it holds back to mark it. It is in a topic of
// its own: whoever reads that may be ahead of the rows, or behind them.
struct Notification {
  enum class Type : std::uint8_t {
    started,
    in_progress,           // of `collection`
    table_scan_completed,  // of `collection`, with a status
    completed,             // of all
    aborted,
    skipped,
    other,  // PAUSED, RESUMED, TABLE_CHUNK_COMPLETED, and what later versions add
  };
  Type type = Type::other;
  bool is_incremental = false;     // else of the first snapshot, or of a blocking one
  std::string_view id{};           // of incremental ones the signal's that began it
  std::string_view connector{};    // as Origin::server
  std::string_view collection{};   // the table: `db.table`, `schema.table` or `db.schema.table`
  std::string_view collections{};  // all of the snapshot, with commas between them
  std::string_view status{};       // SUCCEEDED, SQL_EXCEPTION; incremental: EMPTY, SKIPPED, …
  std::optional<std::uint64_t> rows{};  // that were read of the table
  std::string_view ms{};                // when it was written
};

struct Change {
  Op op = Op::heartbeat;
  // Of create, read, update, remove, truncate: which of the tables that are asked for.
  std::optional<std::size_t> table{};
  TableName name{};  // of everything with a `source` block

  // Of create, read, update; else, and of a table that is not asked for, it is empty.
  Row after{};
  // Of these, remove and tombstone: the key's payload as JSON, byte for byte as the connector
  // writes it for the same row each time. Empty: the table has no primary key.
  std::string_view key_json{};

  Snapshot snapshot = Snapshot::no;
  // Of changes of rows, of truncate and message, and of a schema change that has it.
  const Origin* origin = nullptr;
  std::optional<Position> position{};
  // MySQL `uuid:n`, MariaDB `domain-server-n`, or empty. Only needed where the order is: after a
  // failover, file and position begin again.
  std::string_view gtid{};
  // Milliseconds since 1970 in digits, for number_in(), or empty: when the change was committed (of
  // a snapshot: 0, or when it was read), and when the connector wrote the message.
  std::string_view source_ms{};
  std::string_view connector_ms{};

  Transaction transaction{};          // of Op::transaction
  std::string_view message_prefix{};  // of Op::message
  Notification notification{};        // of Op::notification
};

// Why a message is not understood, without anything of its rows.
struct Refusal {
  std::string what;                    // a sentence: `column id is …`; names are the schema's
  std::optional<std::size_t> table{};  // the only one that it concerns; nothing: any
};

}  // namespace cuckooguard::debezium
