// Finds where each command of a client ends and what its arguments are: RESP arrays and inline
// commands, as Redis 7.0.15 reads them, down to its limits and error texts. No I/O, no copy, no
// allocation on the usual path.
//
//     *3 $3 SET $5 key:1 $2 v1 | *2 $3 GET ...      `input` begins at the first byte that is not
//                                                   consumed yet
//     `------- consumed ------'
//
// A command of up to kWholeCommandBytesMax comes whole (`command`). A larger one comes in chunks
// (`chunk`) and is never held whole by anybody: the caller forwards each chunk's bytes as they are.
// A chunk is either
//   - a run of whole arguments, all of them in `arguments`, or
//   - raw bytes of one argument above kWholeArgumentBytesMax, its `$len` line first; `arguments`
//     is empty then;
// so each argument of up to kWholeArgumentBytesMax is a view in exactly one chunk, wherever the
// input was cut. (So is a larger one that was there before the command was known to be large.) The
// command's name is in the first chunk; a "name" above kWholeArgumentBytesMax may be raw, but no
// command is called so.
//
// Threads: one. Lifetimes: see Arguments.
// Errors: values. After `protocol_error` the client gets "-" + error + CRLF and is closed, as by
//   Redis; asking again with the same input gives the same answer.
// Limits: the caller keeps at most kWholeCommandBytesMax + kLineBytesMax unconsumed bytes while it
//   is told `incomplete`; for a client that has not authenticated at most kUnauthenticatedBytesMax
//   + kLineBytesMax, since nobody answers it anyway. Fed byte by byte, the work stays linear in the
//   bytes: what has been scanned is not read again until the end.
// Source: Redis 7.0.15 networking.c (processInlineBuffer, processMultibulkBuffer), util.c
//   (string2ll), sds.c (sdssplitargs); https://redis.io/docs/reference/protocol-spec ("Sending
//   commands to a Redis server"). Differs: lines above kLineBytesMax are refused always, by Redis
//   only if they do not arrive in one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "resp/arguments.h"

namespace cuckooguard::resp {

// Splits the line of an inline command into its arguments, quotes and escapes included, as
// redis-cli users type it.
//
// Threads: any, on different `arguments`. Lifetimes: see Arguments.
// Errors: false for unbalanced quotes, and for a closing quote that is not followed by a blank.
// Source: Redis 7.0.15 sds.c, sdssplitargs. Its corners, kept: "\v" and "\f" are blanks between
//   arguments and behind a closing quote but do not end an unquoted argument; a quote may open
//   inside an argument (a"b c" is one).

// `line` holds no NUL (Redis's line search stops at one) and no line end.
bool split_inline(std::string_view line, Arguments& arguments);

// Reads the lines of a request: `*count`, `$length`, and where an inline command ends. Redis's
// rules to the byte.
//
// Threads: any, on different `searched`. Errors: `refused` with Redis's text.
// Limits: a line has kLineBytesMax bytes at most; it is searched once, however often it is asked
// for.
// Source: Redis 7.0.15 networking.c (processMultibulkBuffer, processInlineBuffer), util.c
// (string2ll). Corners, kept:
//   - lines are searched with strchr: a NUL hides what follows until the line is too long;
//   - of CRLF only the CR is looked at, the byte behind it is skipped whatever it is;
//   - the first byte is looked at only once the line is there.

// Redis's PROTO_INLINE_MAX_SIZE: what may come before the end of an inline command, or of a `*` or
// `$` line.
inline constexpr std::size_t kLineBytesMax = 64 * 1024;
inline constexpr std::size_t kLineEndBytes = 2;

// Redis's limits for a line, and its error otherwise.
struct LineRules {
  char type;
  std::int64_t min;
  std::int64_t max;
  std::int64_t unauthenticated_max;  // `max` before a required AUTH
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

inline constexpr std::size_t kWholeCommandBytesMax = 64 * 1024;
inline constexpr std::size_t kWholeArgumentBytesMax = 16 * 1024;
// Redis's proto-max-bulk-len, its default.
inline constexpr std::int64_t kArgumentBytesMax = 512LL * 1024 * 1024;
// Redis's limits for a client that must authenticate and has not.
inline constexpr std::int64_t kUnauthenticatedArgumentsMax = 10;
inline constexpr std::int64_t kUnauthenticatedArgumentBytesMax = 16384;

// The size up to which their commands come whole; Redis's limits alone would allow ten times as
// much.
inline constexpr std::size_t kUnauthenticatedBytesMax = 17 * 1024;

enum class ScanOutcome : std::uint8_t {
  incomplete,  // nothing consumed: call again with the same bytes and more behind them
  command,     // input[0, consumed) is one whole command, `arguments` holds all its arguments
  nothing,     // bytes without meaning that get no reply (empty line, `*0`, `*-10`): forward them
  chunk,       // a part of a command above kWholeCommandBytesMax
  protocol_error,  // nothing consumed; `error` says what
};

struct Scan {
  ScanOutcome outcome = ScanOutcome::incomplete;
  bool begins = false;  // first chunk of its command (a `command` begins and ends)
  bool ends = false;    // last chunk of its command
  std::size_t consumed = 0;
  std::uint64_t first_argument = 0;  // index in the command of arguments[0], or of the raw argument
  std::uint64_t argument_total = 0;  // how many arguments the command has
  // Redis's line without "-" and CRLF: "ERR Protocol error: invalid bulk length". Valid as long as
  // `arguments`.
  std::string_view error = {};
};

class RequestScanner {
 public:
  // `authenticated` = false: Redis asks for a password and this client has not given it yet.
  explicit RequestScanner(bool authenticated = true) : authenticated_(authenticated) {}
  // If it changes within a command of which nothing has been given, that is scanned again from its
  // front.
  void set_authenticated(bool authenticated) {
    if (authenticated != authenticated_) {
      authenticated_ = authenticated;
      if (!begun_) {
        forget_command();
      }
    }
  }

  Scan next(std::string_view input, Arguments& arguments);

  // Whether the consumed bytes end where a command ends: no chunk is outstanding.
  bool at_command_boundary() const { return !begun_; }

 private:
  // Why a run over arguments stopped, and the line of the argument it stopped at.
  enum class Stop : std::uint8_t { end_of_command, end_of_input, at_limit, at_error };
  struct Run {
    Stop stop;
    RequestLine line;
  };

  Scan scan_inline(std::string_view input, Arguments& arguments);
  Scan scan_array(std::string_view input, Arguments& arguments);
  Scan scan_large(std::string_view input, Arguments& arguments);
  Run run(std::string_view input, Arguments& arguments);
  RequestLine read_line(std::string_view front, const LineRules& rules);
  bool must_stop(std::size_t argument_bytes, std::size_t end) const;
  Scan refuse(const RequestLine& line, std::string_view input, Arguments& arguments) const;
  Scan take_chunk();
  Scan take_raw(std::string_view input, std::size_t line_end);
  void go_on_from_here(bool ended);
  void forget_command();

  // Of the front of the input: bytes already scanned. They end between two arguments.
  std::size_t offset_ = 0;
  // Of the line that begins at offset_: bytes known not to end it.
  std::size_t searched_ = 0;
  std::uint32_t total_ = 0;          // arguments of the array being scanned; 0 between commands
  std::uint32_t scanned_ = 0;        // of them, those that end before offset_
  std::uint32_t delivered_ = 0;      // of them, those in chunks already given
  std::uint32_t raw_remaining_ = 0;  // bytes to come of a large argument, CRLF included
  bool large_ = false;               // this command comes in chunks
  bool begun_ = false;               // and its first one has been given
  bool authenticated_;
};
static_assert(sizeof(RequestScanner) <= 64, "one per client");

// A command of a run of them that differ in the key alone, or in key and value.
struct AlikeCommand {
  std::string_view key;    // the second argument
  std::string_view value;  // the third, of key_and_value
  std::size_t end = 0;     // in the input, behind it
};

enum class AlikeBut : std::uint8_t { key, key_and_value };

// The commands at the front of `input` that are written as the first of them, but for another
// second argument, and another third one, which is the last, if `but` says so: what RequestScanner
// would find there, at a fraction of the cost. Of the first these are the size and the arguments,
// two at least, views of it. At most out.size(), which is not 0; 1 also if the first is no array.
std::size_t alike_commands(std::string_view input,
                           std::size_t first,
                           std::span<const std::string_view> arguments,
                           AlikeBut but,
                           std::span<AlikeCommand> out) noexcept;

}  // namespace cuckooguard::resp
