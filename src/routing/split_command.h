// A command of several slots as one command for each, and one reply made of theirs; and one reply
// made of those to a command that all masters were sent.
//
//   MGET a b c  ──▶  MGET a c   MGET b        *2 A C    *1 B   ──▶  *3 A B C
//   DEL a b c   ──▶  DEL a c    DEL b         :2        :0     ──▶  :2
//   KEYS *      ──▶  KEYS *     KEYS *        *2 a c    *1 b   ──▶  *3 a c b
//
// Only commands that each slot may run by itself are split: MGET, EXISTS, TOUCH, DEL, UNLINK; and
// MSET, which is atomic in Redis, if the configuration wants it.
//
// Threads: pure functions.
// Errors: a part that Redis has refused makes its error the whole reply, although other parts may
//   have run; a reply that does not fit its command is malformed.
// Limits: one whole command; as many parts as it has slots, or as there are masters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/command_table.h"
#include "routing/routing_table.h"

namespace cuckooguard::routing {

// How its parts' replies are merged; `none`: it cannot be split.
Merge merge_of(const redis::Command& command, bool splits_mset);

struct SplitPart {
  std::uint16_t slot = 0;
  std::string command;
  std::vector<std::uint32_t> places;  // of its keys among all
};
// Nothing: a key lacks its value.
std::vector<SplitPart> split(const redis::Command& command,
                             std::span<const std::string_view> arguments);

// `replies[i]` is one whole reply, to parts[i]; `places` only matters to Merge::elements. Nothing:
// malformed. Not for Merge::scan.
std::optional<std::string> merged(Merge merge,
                                  std::span<const std::vector<std::uint32_t>> places,
                                  std::span<const std::string> replies);

}  // namespace cuckooguard::routing
