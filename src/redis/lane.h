// How a command may travel to Redis in `upstream.mode: shared`.
//
//   reads     on a connection that many clients share: the command leaves nothing behind there and
//             does not wait
//   writes    the same, but CLIENT PAUSE WRITE postpones it, and so everything behind it
//   own       on a connection that is the client's alone, until nothing of it is left there
//   new_own   on one that no other client has had: Redis will send what is no reply to it, and
//             another client may have directed something there (CLIENT TRACKING ... REDIRECT)
//   for_good  the same, until the client ends: it asks who it is, or changes what no reply shows
//
// Only built-in commands that this table allows are shared. Commands that it does not know, of a
// newer server or a module, are not. Nor are scripts: one that hangs would keep the others from
// Redis's -BUSY. The commands that end a script are shared.
//
// Threads: pure function. A look-up costs a few ns beside find_command().
// Source: Redis 7.0.15 and the newer servers of redis/command_table.h, COMMAND and its sources;
//   docs/design.md, Connections.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "redis/command_table.h"

namespace cuckooguard::redis {

enum class Lane : std::uint8_t { reads, writes, own, new_own, for_good };

constexpr bool is_shared(Lane lane) {
  return lane <= Lane::writes;
}

Lane lane_of(const Command& command, std::span<const std::string_view> arguments);

// WAIT and WAITAOF: for the writes of their own connection. On one that has not sent any they must
// be preceded by a command, any: Redis remembers how far its log was after the last one.
bool waits_for_writes(std::span<const std::string_view> arguments);

}  // namespace cuckooguard::redis
