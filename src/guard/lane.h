// How a command may travel to Redis in `upstream.mode: shared`.
//
//   shared   it leaves nothing behind on its connection and does not wait: on one that many clients share
//   own      on a connection that is the client's alone, until nothing of it is left there
//   for_good on one that is the client's to its end: it asks who it is, or changes what cannot be told from replies
//
// Only built-in commands that this table allows are shared. Whatever is not known, of a newer server or a module, is not.
// Scripts are not either: one that hangs would keep the others from Redis's -BUSY.
//
// Called by: Guard::lane_of. Threads: pure function. Errors: none. A look-up costs a few ns beside find_command().
// Source: Redis 7.0.15, COMMAND and its sources; DESIGN 5.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "guard/command_table.h"

namespace cuckooguard::guard {

enum class Lane : std::uint8_t { shared, own, for_good };

Lane lane_of(const Command& command, std::span<const std::string_view> arguments);

// WAIT and WAITAOF: for the writes of their own connection. On one that has not sent any they must be preceded by a
// command, any: Redis remembers how far its log was after the last one.
bool waits_for_writes(std::span<const std::string_view> arguments);

}  // namespace cuckooguard::guard
