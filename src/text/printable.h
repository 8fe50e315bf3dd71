// Bytes of a row, a key or a file as they may safely stand in a log line: in double quotes,
// everything but printable ASCII escaped as \xHH, and cut to a bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuckooguard::text {

inline constexpr std::size_t kPrintableBytesMax = 64;

std::string printable(std::string_view bytes, std::size_t bytes_max = kPrintableBytesMax);

}  // namespace cuckooguard::text
