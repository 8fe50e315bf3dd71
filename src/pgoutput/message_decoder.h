// Makes a Message of one message's bytes, as in WalMessage or pg_logical_slot_get_binary_changes.
//
// It keeps nothing of a stream: the follower checks whether rows fit their Relation, or come
// between Begin and Commit.
//
// Threads: one. Lifetimes: see message.h; the next `decode` ends them, whatever comes of it.
// Errors: DecodeError; the decoder itself is as before.
// Limits: kColumnsMax columns, beyond PostgreSQL's own 1,600; names and GIDs of kNameBytesMax,
//   beyond its 63 and 199; else `too_large`. Memory: two rows and a relation of that many columns
//   at most, whatever a message claims, kept between messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <vector>

#include "pgoutput/message.h"
#include "text/byte_cursor.h"

namespace cuckooguard::pgoutput {

// What PostgreSQL's messages are made of: text/byte_cursor.h with big-endian integers.
//
// Source: PostgreSQL's "Message Data Types".
class ByteCursor : public text::ByteCursor {
 public:
  using text::ByteCursor::ByteCursor;

  std::uint8_t u8() { return static_cast<std::uint8_t>(text::big_endian(bytes(1))); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(text::big_endian(bytes(2))); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(text::big_endian(bytes(4))); }
  std::uint64_t u64() { return text::big_endian(bytes(8)); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
};

class ByteCursor;

class MessageDecoder {
 public:
  static constexpr std::size_t kColumnsMax = 1664;
  static constexpr std::size_t kNameBytesMax = 1024;

  std::expected<Message, DecodeError> decode(std::string_view bytes);

 private:
  using Reason = DecodeError::Reason;
  using Body = std::expected<Message, Reason>;

  Body read(std::uint8_t type, ByteCursor& cursor);
  Body read_relation(ByteCursor& cursor);
  Body read_insert(ByteCursor& cursor);
  Body read_update(ByteCursor& cursor);
  Body read_delete(ByteCursor& cursor);

  std::vector<Value> old_row_;
  std::vector<Value> new_row_;
  std::vector<RelationColumn> columns_;
};

}  // namespace cuckooguard::pgoutput
