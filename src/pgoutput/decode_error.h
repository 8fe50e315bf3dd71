// Why bytes of a replication stream could not be understood. Whatever it is, the follower's answer
// is the same: nothing behind the message can be trusted, so reconnect, and read the tables anew if
// that does not help.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace cuckooguard::pgoutput {

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

}  // namespace cuckooguard::pgoutput
