// The kinds of a read's argument that Redis surely accepts.
//
// Must: whatever has_kind() accepts, every server of redis/command_table.h accepts in that place,
//   under any configuration. Redis accepts more than this ("1e300" as a score, for example): such a
//   read is forwarded, and Redis decides.
//
// Threads: pure function.
// Source: Redis 7.0.15 (object.c, util.c string2ll and string2d, t_zset.c, t_stream.c, bitops.c,
// geo.c), asked by hand; integration/missing_keys_are_redis_bytes_test.cpp asks it anew.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuckooguard::redis {

enum class ArgumentKind : std::uint8_t {
  any,
  integer,       // of 64 bits, written as Redis itself would write it
  natural,       // an integer >= 0
  positive,      // an integer > 0
  rank,          // LPOS: an integer but 0
  pick,          // how many random members: an integer whose double is one, too
  number,        // a double; infinite, too
  score,         // a number, or "(" and a number
  lex,           // "-", "+", "[..." or "(..."
  stream_end,    // "-", "+", a stream id, or "(" and a stream id
  stream_id,     // milliseconds, or milliseconds-sequence
  bit_type,      // i1 to i64, u1 to u63
  bit_offset,    //
  field_offset,  // BITFIELD: a bit's offset, or "#" and the number of a field
  longitude,     //
  latitude,      //
  distance,      // a number >= 0, not infinite
  unit,          // m, km, ft, mi in any case
  seconds,  // HGETEX: an expiry, from now on or of all times, that no server takes for too far away
  milliseconds,  //
};

bool has_kind(std::string_view argument, ArgumentKind kind) noexcept;

}  // namespace cuckooguard::redis
