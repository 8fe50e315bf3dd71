// The events of a binary log as values. What is of no use is `Ignorable`, what nobody may skip
// `Unknown`.
//
// Threads: any.
// Lifetimes: views into the event's bytes, or, decompressed, into the decoder, to its next event.
// Source: MySQL's "Binlog Event" pages and MariaDB's "Replication Protocol" pages; corners as
//   recorded from MariaDB 10.11 and 11.8, and MySQL 9.7 (tests/binlog/recorded).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "binlog/event_header.h"
#include "binlog/gtid.h"
#include "binlog/xid.h"

namespace cuckooguard::binlog {

// A file begins. (MySQL does not tell a follower by GTID whether it does so because it was
// started.)
struct FormatDescription {
  std::string_view server_version;
  bool is_mariadb = false;
  ChecksumAlgorithm checksum = ChecksumAlgorithm::none;  // of all events behind this one
  bool is_of_start = false;              // its file is the first since the server was started
  std::string_view post_header_lengths;  // a byte for each type, from 1
};

// The file ends here and goes on in `file`; artificial: the connection begins to send `file` from
// `position`.
struct Rotate {
  std::uint64_t position = 0;
  std::string_view file;
};

// The file ends here, because the server is shut down. One that ends with neither this nor Rotate
// was being written when the server crashed.
struct Stop {};

// Begins a transaction, or, standalone, announces one QUERY that is one by itself.
struct MariaDbTransaction {
  MariaDbGtid gtid;
  bool is_standalone = false;
  bool is_transactional = false;  // false: rows of a table without rollback are among its changes
  bool is_ddl = false;
  bool prepares_xa = false;   // ends in XaPrepare: its rows wait for the verdict on `xid`
  bool completes_xa = false;  // its QUERY is that verdict
  std::optional<Xid> xid;     // with either of the two
};

// Begins a transaction. A server without GTIDs, or in between, says `is_anonymous`.
struct MySqlTransaction {
  MySqlGtid gtid;
  bool is_anonymous = false;
};

// The GTIDs in earlier files, for MySqlGtidSet::decode or MariaDbPosition::decode.
struct PreviousGtids {
  std::string_view set;
};

// Announces the layout of a table whose rows follow: TableLayout::parse.
struct TableMap {
  std::uint64_t table_id = 0;
  std::string_view schema;
  std::string_view table;
  std::string_view
      body;  // all of it behind the table's id and flags; equal bodies are equal layouts
};

enum class RowsKind : std::uint8_t { write, update, erase };

// Rows of one table: RowReader reads them.
struct Rows {
  // An empty event that only ends a statement.
  static constexpr std::uint64_t kNoTable = 0x00ffffff;

  RowsKind kind = RowsKind::write;
  std::uint64_t table_id = 0;
  bool ends_statement = false;  // the table's maps are forgotten
  bool is_partial = false;  // MySQL: after an update, JSON values may be what has changed of them
  std::uint64_t column_count = 0;
  std::string_view
      before_columns;  // bitmap of those that images before the change have: update, erase
  std::string_view after_columns;  // of those that images after it have: write, update
  std::string_view images;
};

struct Query {
  std::string_view schema;  // the default schema; names in the text may be of others
  std::string_view text;    // judge_query knows what it does
  std::uint16_t error_code = 0;
};

// Commits the transaction; the number is the storage engine's, no XA name.
struct Commit {
  std::uint64_t xid = 0;
};

// Ends the transaction's group; its verdict is a later QUERY, or, in one phase, this is its commit.
struct XaPrepare {
  Xid xid;
  bool is_one_phase = false;
};

// Nothing to send. Proves that the connection lives, not that nothing has happened.
struct Heartbeat {
  std::string_view file;
  std::optional<std::uint64_t> position;
};

// The server has lost changes that it should have logged.
struct Incident {
  std::uint16_t number = 0;
  std::string_view message;
};

// A whole transaction's events behind its GTID, compressed: PayloadReader reads them.
struct TransactionPayload {
  enum class Compression : std::uint8_t { zstd = 0, none = 255 };
  Compression compression = Compression::none;
  std::uint64_t uncompressed_bytes = 0;
  std::string_view payload;
};

struct Ignorable {};
struct Unknown {};

using EventBody = std::variant<FormatDescription,
                               Rotate,
                               Stop,
                               MariaDbTransaction,
                               MySqlTransaction,
                               PreviousGtids,
                               TableMap,
                               Rows,
                               Query,
                               Commit,
                               XaPrepare,
                               Heartbeat,
                               Incident,
                               TransactionPayload,
                               Ignorable,
                               Unknown>;

struct Event {
  EventHeader header;
  EventBody body;
};

}  // namespace cuckooguard::binlog
