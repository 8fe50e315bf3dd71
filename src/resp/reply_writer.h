// Writes what the guard answers itself: each function appends one piece of RESP to `out`.
//
// Threads: any, on different `out`. Line types cannot carry CR or LF; both become spaces, as in
//   Redis.
// Source: https://redis.io/docs/reference/protocol-spec; Redis 7.0.15 networking.c (addReply*).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "resp/version.h"

namespace cuckooguard::resp {

void append_nil(std::string& out, Version version);         // "$-1" or "_": a missing string
void append_null_array(std::string& out, Version version);  // "*-1" or "_": a missing array
void append_bulk(std::string& out, std::string_view bytes);
void append_integer(std::string& out, std::int64_t value);
void append_simple(std::string& out, std::string_view line);  // "+line"
void append_error(std::string& out,
                  std::string_view line);  // "-line"; the line begins with its code: "ERR ..."
void append_boolean(std::string& out, Version version, bool value);
// Text for people: "=...txt:" or a bulk string.
void append_verbatim_text(std::string& out, Version version, std::string_view text);

// Headers: the elements follow, each by its own call. A map has `pairs` keys and as many values.
void append_array_header(std::string& out, std::size_t elements);
void append_set_header(std::string& out, Version version, std::size_t elements);
void append_map_header(std::string& out, Version version, std::size_t pairs);

// A whole command, as a client would send it.
void append_command(std::string& out, std::span<const std::string_view> arguments);

}  // namespace cuckooguard::resp
