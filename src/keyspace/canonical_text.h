// Values as a database prints them and no other way, of types of which it finds a row by several
// spellings:
//
//   uuid     8-4-4-4-12 hexadecimal digits, small ones
//   numeric  an optional '-' (not before 0), no leading zero, no zero at the end of a fraction, no
//            exponent; not NaN, Infinity
//   date     YYYY-MM-DD, a day that there is, from 0001-01-01 to 9999-12-31; not infinity, not BC
//   bytea    `\x` and pairs of small hexadecimal digits
//
// and integers (canonical_integer.h). What is like that is equal to nothing else that is.
//
// Threads: free functions without state. Limits: none; cost grows with the text.
// Source: PostgreSQL 15's uuid_out, numeric_out, date_out with DateStyle ISO, byteaout with
// bytea_output hex.
#pragma once

#include <string_view>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

// Of text and |ci whatever there is.
bool is_canonical(ValueType type, std::string_view text) noexcept;

// A number as it is printed without the scale of its column: 1.10 is 1.1, and 1.0 is 1.
std::string_view without_scale(std::string_view numeric) noexcept;

}  // namespace cuckooguard::keyspace
