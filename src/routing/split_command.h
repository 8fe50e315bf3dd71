// A command of several slots as one command for each, and one reply made of theirs.
//
//   MGET a b c  ──▶  MGET a c   MGET b        *2 A C    *1 B   ──▶  *3 A B C
//   DEL a b c   ──▶  DEL a c    DEL b         :2        :0     ──▶  :2
//
// Only those that each slot may run by itself: MGET, EXISTS, TOUCH, DEL, UNLINK; MSET, which is
// atomic in Redis, if that is wanted.
//
// Threads: pure functions. Errors: a part that Redis has refused makes its error the whole reply,
//   although others may have been run; a reply that is none of its command's is malformed. Limits:
//   one whole command; as many parts as it has slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/command_table.h"

namespace cuckooguard::routing {

enum class Merge : std::uint8_t { none, elements, sum, first };

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

// `replies[i]` is one whole reply, to parts[i]. Nothing: malformed.
std::optional<std::string> merged(Merge merge,
                                  std::span<const std::vector<std::uint32_t>> places,
                                  std::span<const std::string> replies);

}  // namespace cuckooguard::routing
