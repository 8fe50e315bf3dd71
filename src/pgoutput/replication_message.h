// What the two sides of a replication connection tell each other inside COPY BOTH: the server
// pieces of its log and signs of life, the follower how far it is.
//
// Threads: any. Lifetimes: the payload is a view into the message. Errors: DecodeError.
// Limits: none; a payload is as long as its message.
// Source: PostgreSQL's "Streaming Replication Protocol"; corners as recorded from PostgreSQL 15
//   (tests/pgoutput/recorded).
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <string_view>
#include <variant>

#include "pgoutput/lsn.h"
#include "pgoutput/message.h"

namespace cuckooguard::pgoutput {

// The protocol calls it XLogData.
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
