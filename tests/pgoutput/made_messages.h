// The bytes of a message, as a server writes it: what was decoded comes out as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "pgoutput/message.h"

namespace cuckooguard::pgoutput {

inline std::string big_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = bytes; i-- != 0;) {
    text += static_cast<char>(value >> (8 * i) & 0xffU);
  }
  return text;
}

inline std::string big_endian(Lsn lsn) {
  return big_endian(lsn.value, 8);
}

inline std::string big_endian(Timestamp time) {
  return big_endian(static_cast<std::uint64_t>(time.microseconds), 8);
}

inline std::string terminated(std::string_view text) {
  return std::string(text) + '\0';
}

// A type and flags that have no meaning.
inline std::string flagged(char type) {
  return {type, '\0'};
}

inline std::string bytes_of(Row row) {
  std::string bytes = big_endian(row.size(), 2);
  for (const Value& value : row) {
    bytes += static_cast<char>(value.state);
    if (value.state == Value::State::text || value.state == Value::State::binary) {
      bytes += big_endian(value.bytes.size(), 4);
      bytes += value.bytes;
    }
  }
  return bytes;
}

inline std::string bytes_of(OldRow is, Row row) {
  return is == OldRow::none ? "" : (is == OldRow::key ? 'K' : 'O') + bytes_of(row);
}

struct Encoder {
  std::string operator()(const Begin& begin) const {
    return 'B' + big_endian(begin.final_lsn) + big_endian(begin.commit_time) +
           big_endian(begin.xid, 4);
  }
  std::string operator()(const Commit& commit) const {
    return flagged('C') + big_endian(commit.commit_lsn) + big_endian(commit.end_lsn) +
           big_endian(commit.commit_time);
  }
  std::string operator()(const Origin& origin) const {
    return 'O' + big_endian(origin.commit_lsn) + terminated(origin.name);
  }
  std::string operator()(const Relation& relation) const {
    std::string bytes = 'R' + big_endian(relation.oid, 4) + terminated(relation.schema) +
                        terminated(relation.name) + static_cast<char>(relation.replica_identity) +
                        big_endian(relation.columns.size(), 2);
    for (const RelationColumn& column : relation.columns) {
      bytes += column.is_key ? '\1' : '\0';
      bytes += terminated(column.name) + big_endian(column.type, 4) +
               big_endian(static_cast<std::uint32_t>(column.type_modifier), 4);
    }
    return bytes;
  }
  std::string operator()(const Type& type) const {
    return 'Y' + big_endian(type.oid, 4) + terminated(type.schema) + terminated(type.name);
  }
  std::string operator()(const Insert& insert) const {
    return 'I' + big_endian(insert.relation, 4) + 'N' + bytes_of(insert.row);
  }
  std::string operator()(const Update& update) const {
    return 'U' + big_endian(update.relation, 4) + bytes_of(update.old_row_is, update.old_row) +
           'N' + bytes_of(update.new_row);
  }
  std::string operator()(const Delete& erased) const {
    return 'D' + big_endian(erased.relation, 4) + bytes_of(erased.old_row_is, erased.old_row);
  }
  std::string operator()(const Truncate& truncate) const {
    std::string bytes = 'T' + big_endian(truncate.relations.size(), 4);
    bytes += static_cast<char>((truncate.cascades ? 1 : 0) + (truncate.restarts_sequences ? 2 : 0));
    for (std::size_t i = 0; i < truncate.relations.size(); ++i) {
      bytes += big_endian(truncate.relations[i], 4);
    }
    return bytes;
  }
  std::string operator()(const LogicalMessage& message) const {
    return 'M' + big_endian(message.is_transactional ? 1 : 0, 1) + big_endian(message.lsn) +
           terminated(message.prefix) + big_endian(message.content.size(), 4) +
           std::string(message.content);
  }
  std::string operator()(const BeginPrepare& begin) const {
    return 'b' + big_endian(begin.prepare_lsn) + big_endian(begin.end_lsn) +
           big_endian(begin.prepare_time) + big_endian(begin.xid, 4) + terminated(begin.gid);
  }
  std::string operator()(const Prepare& prepare) const {
    return flagged('P') + big_endian(prepare.prepare_lsn) + big_endian(prepare.end_lsn) +
           big_endian(prepare.prepare_time) + big_endian(prepare.xid, 4) + terminated(prepare.gid);
  }
  std::string operator()(const CommitPrepared& commit) const {
    return flagged('K') + big_endian(commit.commit_lsn) + big_endian(commit.end_lsn) +
           big_endian(commit.commit_time) + big_endian(commit.xid, 4) + terminated(commit.gid);
  }
  std::string operator()(const RollbackPrepared& rollback) const {
    return flagged('r') + big_endian(rollback.prepare_end_lsn) +
           big_endian(rollback.rollback_end_lsn) + big_endian(rollback.prepare_time) +
           big_endian(rollback.rollback_time) + big_endian(rollback.xid, 4) +
           terminated(rollback.gid);
  }
  std::string operator()(const WalMessage& data) const {
    return 'w' + big_endian(data.start) + big_endian(data.server_end) + big_endian(data.clock) +
           std::string(data.payload);
  }
  std::string operator()(const PrimaryKeepalive& keepalive) const {
    return 'k' + big_endian(keepalive.server_end) + big_endian(keepalive.clock) +
           (keepalive.reply_requested ? '\1' : '\0');
  }
};

inline std::string bytes_of(const Message& message) {
  return std::visit(Encoder{}, message);
}

inline std::string bytes_of(const ReplicationMessage& message) {
  return std::visit(Encoder{}, message);
}

}  // namespace cuckooguard::pgoutput
