// Values as a database prints them and no other way, of types of which it finds a row by several
// spellings:
//
//   uuid     8-4-4-4-12 hexadecimal digits, small ones
//   numeric  an optional '-' (not before 0), no leading zero, no zero at the end of a fraction, no
//            exponent; not NaN, Infinity
//   date     YYYY-MM-DD, a day that there is, from 0001-01-01 to 9999-12-31; not infinity, not BC
//   bytea    `\x` and pairs of small hexadecimal digits
//
// and integers. What is like that is equal to nothing else that is.
//
// Threads: free functions without state. Limits: none; cost grows with the text.
// Source: PostgreSQL 15's uuid_out, numeric_out, date_out with DateStyle ISO, byteaout with
// bytea_output hex.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

// Integers as a database prints them and no other way: an optional '-' (int64 only, not before 0),
// no '+', no leading zero, no space, in range. SQL would take `007`, ` 7` or `7abc` for 7; we do
// not guess.
//
// False: it is not one, and `number` is unchanged.
bool read_canonical_uint64(std::string_view text, std::uint64_t& number) noexcept;

// In place, since an optional that is returned by way of memory costs more than what it is read of.
inline std::optional<std::uint64_t> canonical_uint64(std::string_view text) noexcept {
  std::uint64_t number = 0;
  return read_canonical_uint64(text, number) ? std::optional(number) : std::nullopt;
}
std::optional<std::int64_t> canonical_int64(std::string_view text) noexcept;

// Of text and |ci whatever there is.
bool is_canonical(ValueType type, std::string_view text) noexcept;

// A number as it is printed without the scale of its column: 1.10 is 1.1, and 1.0 is 1.
std::string_view without_scale(std::string_view numeric) noexcept;

// The integer that a text is equal to where SQL compares it with a number: both as doubles, of the
// text as much as is one. `007` is 7, `7abc` too, and a word is 0.
struct EqualInteger {
  std::optional<std::string> text{};  // canonical; nothing: it is equal to none
  bool is_known = true;               // else it is equal to several, or may be
};
EqualInteger equal_integer(std::string_view text);

}  // namespace cuckooguard::keyspace
