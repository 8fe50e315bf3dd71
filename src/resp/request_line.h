// Reads the lines of a request: `*count`, `$length`, and where an inline command ends. Redis's
// rules to the byte.
//
// Threads: any, on different `searched`. Errors: `refused` with Redis's text.
// Limits: a line has kLineBytesMax bytes at most; it is searched once, however often it is asked
// for.
// Source: Redis 7.0.15 networking.c (processMultibulkBuffer, processInlineBuffer), util.c
// (string2ll). Corners, kept:
//   - lines are searched with strchr, so a NUL hides everything behind it until the line is too
//     long;
//   - of CRLF only the CR is looked at, the byte behind it is skipped whatever it is;
//   - the first byte is looked at only once the line is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::resp {

// Redis's PROTO_INLINE_MAX_SIZE: what may come before the end of an inline command, or of a `*` or
// `$` line.
inline constexpr std::size_t kLineBytesMax = 64 * 1024;
inline constexpr std::size_t kLineEndBytes = 2;

// What Redis demands of a line, and what it says otherwise.
struct LineRules {
  char type;
  std::int64_t min;
  std::int64_t max;
  std::int64_t unauthenticated_max;  // `max` for who must authenticate and has not
  std::string_view too_long;
  std::string_view invalid;
  std::string_view unauthenticated;
};

enum class LineOutcome : std::uint8_t { incomplete, complete, wrong_type, refused };

struct RequestLine {
  LineOutcome outcome = LineOutcome::incomplete;
  std::int64_t number = 0;
  std::size_t bytes = 0;  // of the line, its end included
  std::string_view error = {};
};

// Position of the byte that ends the line at the front of `input`, npos if it is not there.
// `searched` is 0 for a new line and carries over, from call to call for one line, how far it is
// known not to end.
std::size_t find_line_end(std::string_view input, char end, std::size_t& searched);

// A `*` or `$` line at the front of `input`, which is not empty.
RequestLine read_request_line(std::string_view input,
                              const LineRules& rules,
                              bool authenticated,
                              std::size_t& searched);

}  // namespace cuckooguard::resp
