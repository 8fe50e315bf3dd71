#include "pgoutput/message_decoder.h"

#include <cstdint>

#include "text/hex.h"
#include "text/try.h"

namespace cuckooguard::pgoutput {

namespace {

using Reason = DecodeError::Reason;
using Body = std::expected<Message, Reason>;

std::string_view text_of(Reason reason) {
  switch (reason) {
    case Reason::truncated:
      return "a field reaches beyond the message";
    case Reason::trailing_bytes:
      return "extra bytes follow the last field";
    case Reason::malformed:
      return "a field has a value that no server writes";
    case Reason::too_large:
      return "it has more columns, or a longer name, than PostgreSQL can have";
    case Reason::unknown_type:
      return "its type is unknown";
    case Reason::not_asked_for:
      return "it is part of a transaction in progress, which the guard did not request";
  }
  return "unknown error";
}

// A letter as it is, any other byte by its number.
std::string name_of(std::uint8_t type) {
  if (type > ' ' && type <= '~') {
    return {'\'', static_cast<char>(type), '\''};
  }
  std::string number = "0x";
  text::append_hex(number, type);
  return number;
}

constexpr std::uint8_t kNewRow = 'N';
constexpr std::uint8_t kOldKey = 'K';
constexpr std::uint8_t kOldRow = 'O';

// What the server cuts at 63 bytes, or 199, too.
bool is_name(std::string_view text) {
  return text.size() <= MessageDecoder::kNameBytesMax;
}

// Of a message whose flags have no meaning yet.
bool skip_flags(ByteCursor& cursor) {
  return cursor.u8() == 0;
}

Lsn read_lsn(ByteCursor& cursor) {
  return {cursor.u64()};
}

Timestamp read_time(ByteCursor& cursor) {
  return {cursor.i64()};
}

Body read_begin(ByteCursor& cursor) {
  Begin begin;
  begin.final_lsn = read_lsn(cursor);
  begin.commit_time = read_time(cursor);
  begin.xid = cursor.u32();
  return begin;
}

Body read_commit(ByteCursor& cursor) {
  if (!skip_flags(cursor)) {
    return std::unexpected(Reason::malformed);
  }
  Commit commit;
  commit.commit_lsn = read_lsn(cursor);
  commit.end_lsn = read_lsn(cursor);
  commit.commit_time = read_time(cursor);
  return commit;
}

Body read_origin(ByteCursor& cursor) {
  Origin origin;
  origin.commit_lsn = read_lsn(cursor);
  origin.name = cursor.nul_terminated();
  return origin;
}

Body read_type(ByteCursor& cursor) {
  Type type;
  type.oid = cursor.u32();
  type.schema = cursor.nul_terminated();
  type.name = cursor.nul_terminated();
  if (!is_name(type.schema) || !is_name(type.name)) {
    return std::unexpected(Reason::too_large);
  }
  return type;
}

Body read_truncate(ByteCursor& cursor) {
  constexpr std::uint8_t kCascade = 1;
  constexpr std::uint8_t kRestartIdentity = 2;
  const std::uint64_t relations = cursor.u32();
  const std::uint8_t options = cursor.u8();
  if (options > (kCascade | kRestartIdentity)) {
    return std::unexpected(Reason::malformed);
  }
  return Truncate{.relations = OidList(cursor.bytes(relations * sizeof(Oid))),
                  .cascades = (options & kCascade) != 0,
                  .restarts_sequences = (options & kRestartIdentity) != 0};
}

Body read_logical_message(ByteCursor& cursor) {
  const std::uint8_t flags = cursor.u8();
  if (flags > 1) {
    return std::unexpected(Reason::malformed);
  }
  LogicalMessage message{.is_transactional = flags != 0};
  message.lsn = read_lsn(cursor);
  message.prefix = cursor.nul_terminated();
  const std::uint32_t bytes = cursor.u32();
  message.content = cursor.bytes(bytes);
  return message;
}

// What all four of them end with.
template <typename T>
Body read_xid_and_gid(ByteCursor& cursor, T& message) {
  message.xid = cursor.u32();
  message.gid = cursor.nul_terminated();
  if (!is_name(message.gid)) {
    return std::unexpected(Reason::too_large);
  }
  return message;
}

Body read_begin_prepare(ByteCursor& cursor) {
  BeginPrepare begin;
  begin.prepare_lsn = read_lsn(cursor);
  begin.end_lsn = read_lsn(cursor);
  begin.prepare_time = read_time(cursor);
  return read_xid_and_gid(cursor, begin);
}

Body read_prepare(ByteCursor& cursor) {
  if (!skip_flags(cursor)) {
    return std::unexpected(Reason::malformed);
  }
  Prepare prepare;
  prepare.prepare_lsn = read_lsn(cursor);
  prepare.end_lsn = read_lsn(cursor);
  prepare.prepare_time = read_time(cursor);
  return read_xid_and_gid(cursor, prepare);
}

Body read_commit_prepared(ByteCursor& cursor) {
  if (!skip_flags(cursor)) {
    return std::unexpected(Reason::malformed);
  }
  CommitPrepared commit;
  commit.commit_lsn = read_lsn(cursor);
  commit.end_lsn = read_lsn(cursor);
  commit.commit_time = read_time(cursor);
  return read_xid_and_gid(cursor, commit);
}

Body read_rollback_prepared(ByteCursor& cursor) {
  if (!skip_flags(cursor)) {
    return std::unexpected(Reason::malformed);
  }
  RollbackPrepared rollback;
  rollback.prepare_end_lsn = read_lsn(cursor);
  rollback.rollback_end_lsn = read_lsn(cursor);
  rollback.prepare_time = read_time(cursor);
  rollback.rollback_time = read_time(cursor);
  return read_xid_and_gid(cursor, rollback);
}

std::expected<Row, Reason> read_row(ByteCursor& cursor, std::vector<Value>& row) {
  const std::size_t columns = cursor.u16();
  if (columns > MessageDecoder::kColumnsMax) {
    return std::unexpected(Reason::too_large);
  }
  row.resize(columns);
  for (Value& value : row) {
    const std::uint8_t state = cursor.u8();
    switch (state) {
      case 'n':
      case 'u':
        value.bytes = {};
        break;
      case 't':
      case 'b': {
        const std::uint32_t bytes = cursor.u32();
        value.bytes = cursor.bytes(bytes);
        break;
      }
      default:
        return std::unexpected(Reason::malformed);
    }
    value.state = static_cast<Value::State>(state);
  }
  return row;
}

std::expected<RelationColumn, Reason> read_column(ByteCursor& cursor) {
  const std::uint8_t flags = cursor.u8();
  if (flags > 1) {
    return std::unexpected(Reason::malformed);
  }
  RelationColumn column{.is_key = flags != 0};
  column.name = cursor.nul_terminated();
  column.type = cursor.u32();
  column.type_modifier = cursor.i32();
  if (!is_name(column.name)) {
    return std::unexpected(Reason::too_large);
  }
  return column;
}

}  // namespace

std::string describe(const DecodeError& error) {
  return "message " + name_of(error.type) + ": " + std::string(text_of(error.reason));
}

std::expected<Message, DecodeError> MessageDecoder::decode(std::string_view bytes) {
  ByteCursor cursor(bytes);
  const std::uint8_t type = cursor.u8();
  Body body = read(type, cursor);
  if (cursor.ok() && body && cursor.left() == 0) {
    return *std::move(body);
  }
  // What was read of a field that is not there is wrong for that reason only.
  const Reason reason = !cursor.ok() ? Reason::truncated
                        : !body      ? body.error()
                                     : Reason::trailing_bytes;
  return std::unexpected(DecodeError{.reason = reason, .type = type});
}

MessageDecoder::Body MessageDecoder::read(std::uint8_t type, ByteCursor& cursor) {
  switch (type) {
    case 'I':
      return read_insert(cursor);
    case 'U':
      return read_update(cursor);
    case 'D':
      return read_delete(cursor);
    case 'B':
      return read_begin(cursor);
    case 'C':
      return read_commit(cursor);
    case 'O':
      return read_origin(cursor);
    case 'R':
      return read_relation(cursor);
    case 'Y':
      return read_type(cursor);
    case 'T':
      return read_truncate(cursor);
    case 'M':
      return read_logical_message(cursor);
    case 'b':
      return read_begin_prepare(cursor);
    case 'P':
      return read_prepare(cursor);
    case 'K':
      return read_commit_prepared(cursor);
    case 'r':
      return read_rollback_prepared(cursor);
    // Stream Start, Stop, Commit, Abort, Prepare.
    case 'S':
    case 'E':
    case 'c':
    case 'A':
    case 'p':
      return std::unexpected(Reason::not_asked_for);
    default:
      return std::unexpected(Reason::unknown_type);
  }
}

MessageDecoder::Body MessageDecoder::read_relation(ByteCursor& cursor) {
  Relation relation;
  relation.oid = cursor.u32();
  relation.schema = cursor.nul_terminated();
  relation.name = cursor.nul_terminated();
  const std::uint8_t identity = cursor.u8();
  switch (identity) {
    case 'd':
    case 'n':
    case 'f':
    case 'i':
      break;
    default:
      return std::unexpected(Reason::malformed);
  }
  relation.replica_identity = static_cast<ReplicaIdentity>(identity);
  const std::size_t columns = cursor.u16();
  if (columns > kColumnsMax || !is_name(relation.schema) || !is_name(relation.name)) {
    return std::unexpected(Reason::too_large);
  }
  columns_.resize(columns);
  for (RelationColumn& column : columns_) {
    column = TRY(read_column(cursor));
  }
  relation.columns = columns_;
  return relation;
}

MessageDecoder::Body MessageDecoder::read_insert(ByteCursor& cursor) {
  const Oid relation = cursor.u32();
  if (cursor.u8() != kNewRow) {
    return std::unexpected(Reason::malformed);
  }
  const auto row = TRY(read_row(cursor, new_row_));
  return Insert{.relation = relation, .row = row};
}

MessageDecoder::Body MessageDecoder::read_update(ByteCursor& cursor) {
  Update update{.relation = cursor.u32()};
  std::uint8_t marker = cursor.u8();
  if (marker == kOldKey || marker == kOldRow) {
    const auto row = TRY(read_row(cursor, old_row_));
    update.old_row_is = marker == kOldKey ? OldRow::key : OldRow::whole;
    update.old_row = row;
    marker = cursor.u8();
  }
  if (marker != kNewRow) {
    return std::unexpected(Reason::malformed);
  }
  update.new_row = TRY(read_row(cursor, new_row_));
  return update;
}

MessageDecoder::Body MessageDecoder::read_delete(ByteCursor& cursor) {
  const Oid relation = cursor.u32();
  const std::uint8_t marker = cursor.u8();
  if (marker != kOldKey && marker != kOldRow) {
    return std::unexpected(Reason::malformed);
  }
  const auto row = TRY(read_row(cursor, old_row_));
  return Delete{.relation = relation,
                .old_row_is = marker == kOldKey ? OldRow::key : OldRow::whole,
                .old_row = row};
}

namespace {

char* put(char* at, std::uint64_t value) {
  for (unsigned shift = 64; shift != 0;) {
    shift -= 8;
    *at++ = static_cast<char>(value >> shift & 0xffU);
  }
  return at;
}

}  // namespace

std::expected<ReplicationMessage, DecodeError> decode_replication_message(std::string_view bytes) {
  ByteCursor cursor(bytes);
  const std::uint8_t type = cursor.u8();
  const auto refuse = [type](Reason reason) {
    return std::unexpected(DecodeError{.reason = reason, .type = type});
  };
  ReplicationMessage message;
  if (type == 'w') {
    WalMessage data;
    data.start = {cursor.u64()};
    data.server_end = {cursor.u64()};
    data.clock = {cursor.i64()};
    data.payload = cursor.rest();
    message = data;
  } else if (type == 'k') {
    PrimaryKeepalive keepalive;
    keepalive.server_end = {cursor.u64()};
    keepalive.clock = {cursor.i64()};
    const std::uint8_t reply = cursor.u8();
    if (reply > 1) {
      return refuse(Reason::malformed);
    }
    keepalive.reply_requested = reply != 0;
    message = keepalive;
  } else {
    return refuse(cursor.ok() ? Reason::unknown_type : Reason::truncated);
  }
  if (!cursor.ok()) {
    return refuse(Reason::truncated);
  }
  if (cursor.left() != 0) {
    return refuse(Reason::trailing_bytes);
  }
  return message;
}

std::array<char, kStandbyStatusUpdateBytes> encode(const StandbyStatusUpdate& update) {
  std::array<char, kStandbyStatusUpdateBytes> bytes;
  char* at = bytes.data();
  *at++ = 'r';
  at = put(at, update.written.value);
  at = put(at, update.flushed.value);
  at = put(at, update.applied.value);
  at = put(at, static_cast<std::uint64_t>(update.clock.microseconds));
  *at = update.reply_requested ? '\1' : '\0';
  return bytes;
}

}  // namespace cuckooguard::pgoutput
