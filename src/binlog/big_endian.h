// An unsigned integer whose first byte is the highest: dates, times and BIT are stored so. 8 bytes
// at most.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuckooguard::binlog {

inline std::uint64_t big_endian(std::string_view value) {
  std::uint64_t number = 0;
  for (const char byte : value) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

}  // namespace cuckooguard::binlog
