// Finds where each reply of an upstream ends, without keeping any of it: RESP2 and RESP3, at any
// cut.
//
//     while (!input.empty()) { piece = framer.next(input); ...; input.remove_prefix(piece.bytes); }
//
// Every byte is taken as it comes: a piece ends before the input does only where its reply ends (or
// is malformed). A push ('>') at top level is a reply of its own that answers no command.
// Attributes ('|') belong to the value behind them. The framer does not look at what a value says
// (+OK or +KO, :1 or :x).
//
// Threads: one. Errors: `malformed`, for good: the stream cannot be followed any more. The
//   offending byte is the first one behind the piece. Refused are unknown types, bad lengths, and
//   payloads not followed by CRLF: to go on after any of them would be to give one client another's
//   reply.
// Limits: nesting is unlimited for counted aggregates (a counter, no stack); kStreamedDepthMax for
//   streamed ones ("*?"), which Redis 7 does not send. Lengths have at most 18 digits, and at most
//   2^62 values may be outstanding. 80 bytes.
// Source: https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::resp {

class ReplyFramer {
 public:
  static constexpr std::size_t kStreamedDepthMax = 4;

  struct Piece {
    std::size_t bytes = 0;   // at the front of the input, part of the current reply
    bool begins = false;     // the reply begins with this piece
    bool ends = false;       // the reply is complete with this piece
    bool malformed = false;  // what follows the piece is no RESP
  };

  Piece next(std::string_view input);

  // Whole replies at the front of the input that are strings, nulls or short lines, but no errors,
  // as pipelines of GET, SET and EXISTS are replied with: what next() would find, at a fraction of
  // the cost. None unless at_reply_boundary(); no more than `most`.
  struct Plain {
    std::size_t bytes = 0;
    std::uint32_t count = 0;
    std::size_t longest = 0;  // bytes
  };
  Plain take_plain(std::string_view input, std::uint64_t most);

  // First byte of the value of the current, or just ended, reply: '+', '-', ':', '$', '*', '_',
  // '%', '~', '>' ...; '\0' until it has come (attributes come before it).
  char type() const { return type_; }

  // Whether that value is a null: "$-1", "*-1" or "_". Known when the reply has ended.
  bool is_null() const { return is_null_; }

  // Whether the bytes seen so far end where a reply ends.
  bool at_reply_boundary() const { return state_ == State::between; }

  // Bytes that are still to come of the string at hand; 0 outside of one.
  std::uint64_t payload_to_come() const { return state_ == State::payload ? length_ : 0; }

 private:
  enum class State : std::uint8_t {
    between,     // the next byte begins a reply
    item,        // the next byte begins a value inside a reply
    length,      // in the digits of a length
    length_lf,   // at the LF behind a length
    line,        // in a line
    payload,     // in the bytes of a string
    payload_cr,  // at the CR behind them
    payload_lf,
    malformed,
  };
  enum class LengthKind : std::uint8_t { counted, null, streamed };

  const char* take_usual(const char* at, const char* end);
  const char* step(const char* at, const char* end);
  const char* begin_item(const char* at, const char* end);
  const char* take_length(const char* at, const char* end);
  const char* take_line(const char* at, const char* end);
  const char* take_payload(const char* at, const char* end);
  const char* take_line_end(const char* at);
  bool take_length_byte(char byte);
  bool length_is_known();
  bool begin_streamed();
  bool begin_elements(std::uint64_t values);
  void line_is_complete();
  void payload_is_complete();
  void item_is_complete();

  State state_ = State::between;
  char type_ = '\0';
  bool is_null_ = false;
  // Of the value being read: its type, whether it is the reply's own value and not one inside, its
  // length so far.
  char item_ = '\0';
  bool is_reply_ = false;
  LengthKind length_kind_ = LengthKind::counted;
  std::uint8_t digits_ = 0;
  std::uint64_t length_ = 0;
  bool after_cr_ = false;          // the piece before ended in the CR of a line
  bool in_streamed_text_ = false;  // between the parts of a "$?"
  // Values to come: inside the innermost streamed aggregate, and below each.
  std::uint64_t needed_ = 0;
  std::uint8_t depth_ = 0;
  std::array<std::uint64_t, kStreamedDepthMax> needed_below_{};
};

}  // namespace cuckooguard::resp
