// Which bytes begin a RESP value, and how a value of that type ends.
//
// Source: https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md
#pragma once

#include <cstdint>

namespace cuckooguard::resp {

enum class Shape : std::uint8_t {
  unknown,
  line,         // +text CRLF
  text,         // $length CRLF bytes CRLF
  elements,     // *count CRLF values
  pairs,        // %count CRLF twice as many values
  attribute,    // |count CRLF twice as many values, then the value it belongs to
  text_part,    // ;length CRLF bytes CRLF, in a streamed string; ";0" CRLF ends it
  elements_end  // . CRLF, ends a streamed aggregate
};

constexpr Shape shape_of(char type) {
  switch (type) {
    case '+':
    case '-':
    case ':':
    case '_':
    case ',':
    case '#':
    case '(':
      return Shape::line;
    case '$':
    case '!':
    case '=':
      return Shape::text;
    case '*':
    case '~':
    case '>':
      return Shape::elements;
    case '%':
      return Shape::pairs;
    case '|':
      return Shape::attribute;
    case ';':
      return Shape::text_part;
    case '.':
      return Shape::elements_end;
    default:
      return Shape::unknown;
  }
}

// "$-1" and "*-1" are RESP2's nulls.
constexpr bool may_be_null(char type) {
  return type == '$' || type == '*';
}

// "$?", "*?" and so on: the length is not known yet.
constexpr bool may_be_streamed(char type) {
  return type == '$' || type == '*' || type == '~' || type == '%';
}

}  // namespace cuckooguard::resp
