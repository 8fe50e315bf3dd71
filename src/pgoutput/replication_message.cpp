#include "pgoutput/replication_message.h"

#include <cstdint>

#include "pgoutput/byte_cursor.h"

namespace cuckooguard::pgoutput {

namespace {

using Reason = DecodeError::Reason;

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
