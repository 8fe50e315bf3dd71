// Dates and times as they are stored, as the text that SELECT gives for them; a TIMESTAMP's in UTC.
//
// Threads: free functions. Lifetimes: the text views the scratch bytes given. Errors: `malformed`.
// Limits: `value` has as many bytes as column_storage.h says for the type and its `digits` of a
// second's fraction, 6 at most; scratch has kTemporalCharactersMax.
// Source: MySQL's "Date and Time Data Type Representation"; checked against SELECT in
// tests/binlog/recorded and integration/mariadb_keys_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "binlog/decode_error.h"

namespace cuckooguard::binlog {

using TemporalText = std::expected<std::string_view, DecodeError>;

inline constexpr std::size_t kYearCharacters = 4;
inline constexpr std::size_t kDateCharacters = 10;
inline constexpr std::size_t kTemporalCharactersMax = 26;  // of 2026-11-23 01:02:03.123456

TemporalText year_text(std::string_view value, char* scratch);
TemporalText date_text(std::string_view value, char* scratch);
TemporalText datetime_text(std::uint8_t digits, std::string_view value, char* scratch);
TemporalText timestamp_text(std::uint8_t digits, std::string_view value, char* scratch);
TemporalText time_text(std::uint8_t digits, std::string_view value, char* scratch);

}  // namespace cuckooguard::binlog
