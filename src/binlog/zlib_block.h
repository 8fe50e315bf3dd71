// MariaDB's compressed block (log_bin_compress): what a compressed QUERY or row event has in place
// of its text or rows.
//
//     1000 0www | uncompressed length, www bytes (1..4), big-endian | zlib stream to the end
//
// Threads: any. Errors: `malformed`, `too_large`, `decompression_failed`.
// Limits: the caller's; and no buffer is made larger than what the stream's length could possibly
//   become.
// Source: MariaDB's "Compressing Events to Reduce Size of the Binary Log" page; seen in recordings
//   of 10.11.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <vector>

#include "binlog/decode_error.h"

namespace cuckooguard::binlog {

// Into the front of `buffer`, which grows if it must; the result views it.
std::expected<std::string_view, DecodeError> inflate_block(std::string_view block,
                                                           std::size_t bytes_max,
                                                           std::vector<char>& buffer);

}  // namespace cuckooguard::binlog
