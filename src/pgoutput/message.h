// The messages of pgoutput, PostgreSQL's logical decoding as a subscriber sees it, as values. Of
// protocol versions 1 to 3, without streaming of transactions that have not ended.
//
// Without two_phase a transaction comes whole, once it has committed: Begin, changes, Commit. With
// it, one that is prepared comes as BeginPrepare, changes, Prepare, and CommitPrepared or
// RollbackPrepared follows.
//
// Threads: any.
// Lifetimes: texts are views into the message's bytes, rows and columns into the decoder, to its
//   next message.
// Source: PostgreSQL's "Logical Replication Message Formats"; corners as recorded from PostgreSQL
//   15 (tests/pgoutput/recorded).
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "pgoutput/lsn.h"

namespace cuckooguard::pgoutput {

// PostgreSQL's clock: microseconds since 2000-01-01 00:00 UTC ("Date/Time Types", TimestampTz).
struct Timestamp {
  static constexpr std::chrono::sys_days kEpoch = std::chrono::year{2000} / 1 / 1;

  std::int64_t microseconds = 0;

  static constexpr Timestamp of(std::chrono::sys_time<std::chrono::microseconds> time) {
    return {(time - kEpoch).count()};
  }

  // The highest values, which no clock shows, stay at the last time that there is.
  constexpr std::chrono::sys_time<std::chrono::microseconds> time() const {
    using Time = std::chrono::sys_time<std::chrono::microseconds>;
    const std::chrono::microseconds since(microseconds);
    return since > Time::max() - kEpoch ? Time::max() : Time(kEpoch) + since;
  }

  auto operator<=>(const Timestamp&) const = default;
};

using Oid = std::uint32_t;
using TransactionId = std::uint32_t;  // of 32 bits: they are used anew

struct Begin {
  Lsn final_lsn;  // Commit::commit_lsn of the same transaction
  Timestamp commit_time;
  TransactionId xid = 0;
};

struct Commit {
  Lsn commit_lsn;
  Lsn end_lsn;  // behind the commit: whoever has this transaction may begin here
  Timestamp commit_time;
};

// Behind Begin: the transaction came here from another server.
struct Origin {
  Lsn commit_lsn;  // over there
  std::string_view name;
};

// What an update or a delete tells of the row before it.
enum class ReplicaIdentity : char { primary_key = 'd', nothing = 'n', full = 'f', index = 'i' };

struct RelationColumn {
  bool is_key = false;  // part of the replica identity; with `full` every column is
  std::string_view name;
  Oid type = 0;
  std::int32_t type_modifier = -1;  // VARCHAR's length, NUMERIC's precision; -1: none
};

// Announces a table, before the first of its rows and whenever it has changed, if only by TRUNCATE.
// Columns that are not published, as generated ones before PostgreSQL 18, are not among them.
struct Relation {
  Oid oid = 0;
  std::string_view schema;  // empty: pg_catalog
  std::string_view name;
  ReplicaIdentity replica_identity = ReplicaIdentity::primary_key;
  std::span<const RelationColumn> columns;
};

// Announces a type that is not built in, before a Relation that has it.
struct Type {
  Oid oid = 0;
  std::string_view schema;  // empty: pg_catalog
  std::string_view name;
};

struct Value {
  // `unchanged`: a long value (TOAST) that the update has not touched, and that is not sent again;
  // a `whole` old row has it.
  enum class State : char { null = 'n', unchanged = 'u', text = 't', binary = 'b' };
  State state = State::null;
  std::string_view bytes;  // of text and binary
};

// A value for each column. Their number may differ from the Relation's: the user must compare.
using Row = std::span<const Value>;

struct Insert {
  Oid relation = 0;
  Row row;
};

// How much there is of the row before a change.
//   none: its replica identity is as it was, or it has none.
//   key: only columns of the replica identity; all others are null here, whatever they were.
//   whole: every column, with replica identity `full`.
enum class OldRow : std::uint8_t { none, key, whole };

struct Update {
  Oid relation = 0;
  OldRow old_row_is = OldRow::none;
  Row old_row;
  Row new_row;
};

struct Delete {
  Oid relation = 0;
  OldRow old_row_is = OldRow::key;  // never none
  Row old_row;
};

class OidList {
 public:
  OidList() = default;
  // Big-endian, one after the other.
  explicit OidList(std::string_view bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size() / sizeof(Oid); }
  // `i` < size().
  Oid operator[](std::size_t i) const {
    Oid oid = 0;
    std::memcpy(&oid, bytes_.data() + i * sizeof(Oid), sizeof(Oid));
    return std::endian::native == std::endian::little ? std::byteswap(oid) : oid;
  }

 private:
  std::string_view bytes_;
};

struct Truncate {
  OidList relations;
  bool cascades = false;
  bool restarts_sequences = false;
};

// What somebody wrote into the log: pg_logical_emit_message.
struct LogicalMessage {
  bool is_transactional = false;  // false: stands outside of Begin and Commit
  Lsn lsn;
  std::string_view prefix;
  std::string_view content;
};

struct BeginPrepare {
  Lsn prepare_lsn;
  Lsn end_lsn;
  Timestamp prepare_time;
  TransactionId xid = 0;
  std::string_view gid;  // by which PREPARE TRANSACTION calls it
};

struct Prepare {
  Lsn prepare_lsn;
  Lsn end_lsn;
  Timestamp prepare_time;
  TransactionId xid = 0;
  std::string_view gid;
};

struct CommitPrepared {
  Lsn commit_lsn;
  Lsn end_lsn;
  Timestamp commit_time;
  TransactionId xid = 0;
  std::string_view gid;
};

struct RollbackPrepared {
  Lsn prepare_end_lsn;
  Lsn rollback_end_lsn;
  Timestamp prepare_time;
  Timestamp rollback_time;
  TransactionId xid = 0;
  std::string_view gid;
};

using Message = std::variant<Begin,
                             Commit,
                             Origin,
                             Relation,
                             Type,
                             Insert,
                             Update,
                             Delete,
                             Truncate,
                             LogicalMessage,
                             BeginPrepare,
                             Prepare,
                             CommitPrepared,
                             RollbackPrepared>;

// Why bytes of a replication stream could not be understood. Whatever it is, the follower's answer
// is the same: nothing behind the message can be trusted, so reconnect, and read the tables anew if
// that does not help.
struct DecodeError {
  enum class Reason : std::uint8_t {
    truncated,       // a field reaches beyond the message
    trailing_bytes,  // bytes are left behind the last field
    malformed,       // a field has a value that no server writes
    too_large,       // more columns, or a longer name, than PostgreSQL can have
    unknown_type,    // no message begins with this byte
    not_asked_for,   // of a transaction that is sent before it ends: option `streaming`
  };

  Reason reason = Reason::truncated;
  std::uint8_t type = 0;  // the message's first byte; 0 if there is none

  bool operator==(const DecodeError&) const = default;
};

// As a part of a sentence: "message 'I': a field reaches beyond the message".
std::string describe(const DecodeError& error);

// What the two sides of a replication connection tell each other inside COPY BOTH: the server
// pieces of its log and signs of life, the follower how far it is.
// Source: PostgreSQL's "Streaming Replication Protocol"; corners as recorded from PostgreSQL 15.
//
// The protocol calls it XLogData. The payload is a view into the message.
struct WalMessage {
  Lsn start;        // of what the payload tells; 0 for what the log itself has not: a Relation
  Lsn server_end;   // of pgoutput: `start` once more
  Timestamp clock;  // the server's, as it sent this
  std::string_view payload;  // of pgoutput: one message, for MessageDecoder
};

struct PrimaryKeepalive {
  Lsn server_end;  // how far the server has read its log for this connection
  Timestamp clock;
  bool reply_requested = false;  // at once, or it takes the follower for dead
};

using ReplicationMessage = std::variant<WalMessage, PrimaryKeepalive>;

// Of the content of one CopyData.
std::expected<ReplicationMessage, DecodeError> decode_replication_message(std::string_view bytes);

// Each place is the one behind the last byte that this is true of. What is flushed the server may
// forget.
struct StandbyStatusUpdate {
  Lsn written;
  Lsn flushed;
  Lsn applied;
  Timestamp clock;  // the follower's
  bool reply_requested = false;
};

inline constexpr std::size_t kStandbyStatusUpdateBytes = 34;

// The content of one CopyData.
std::array<char, kStandbyStatusUpdateBytes> encode(const StandbyStatusUpdate& update);

}  // namespace cuckooguard::pgoutput
