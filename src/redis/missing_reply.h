// What Redis replies to a read whose keys are all missing. One table: each read, its shapes that
// cannot fail, and their replies.
//
// Not here: GET, GETEX (but HGETEX is) and MGET, which may be answered with the namespace's absent
// reply, and EXISTS and TOUCH, which the guard counts key by key. XINFO, XPENDING and VDIM of a
// missing key are errors, and only Redis itself may give those; scripts may do anything. Only
// replies on which all tested servers with the command agree are here.
//
// Threads: immutable. Limits: a reply has no more elements than the command has arguments.
// Source: Redis 7.0.15 and 8.0.6, Valkey 8.0.1 and 9.1.2, asked by hand;
//   integration/missing_keys_are_redis_bytes_test.cpp asks the server at hand each time, also about
//   commands that are not here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "redis/command_table.h"
#include "resp/version.h"

namespace cuckooguard::redis {

enum class MissingPart : std::uint8_t {
  nil,
  null_array,
  zero,
  minus_one,
  minus_two,
  no,    // false where RESP can say so
  none,  // TYPE
  empty_string,
  empty_array,
  empty_set,
  empty_map,
  empty_scan,  // cursor 0 and nothing
  no_matches,  // LCS IDX
};

struct MissingReply {
  MissingPart part = MissingPart::nil;
  // 0: the part is the reply. Else the reply is an array of such parts, one for so many arguments
  // from the first element's on.
  std::uint8_t element_arguments = 0;
  std::uint8_t first_element = 2;  // behind the key
};

// Nothing if this may fail, or is not one of the reads in the table.
std::optional<MissingReply> missing_reply(const Command& command,
                                          std::span<const std::string_view> arguments) noexcept;

// Static, or written into `scratch`.
std::string_view bytes_of(MissingReply reply,
                          std::size_t argument_count,
                          resp::Version version,
                          std::string& scratch);

// All of the table's commands, for tests; a command stands here once for each of its shapes.
std::span<const std::string_view> names_of_answered_reads() noexcept;

}  // namespace cuckooguard::redis
