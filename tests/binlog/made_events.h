// Events made by hand, for what no recording has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "binlog/event_header.h"
#include "drain.h"

namespace cuckooguard::binlog {

inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i) & 0xffU);
  }
  return text;
}

inline std::string zeros(std::size_t count) {
  return std::string(count, '\0');
}

// Without a checksum.
inline std::string make_event(EventType type,
                              std::string_view body,
                              std::uint16_t flags = 0,
                              std::uint32_t next_position = 0) {
  std::string event = zeros(4) + static_cast<char>(type) + little_endian(77, 4) + zeros(4) +
                      little_endian(next_position, 4) + little_endian(flags, 2);
  event += body;
  set_event_bytes(event);
  return event;
}

inline std::string with_checksum(std::string event) {
  event += "crc.";
  set_event_bytes(event);
  renew_checksum(event);
  return event;
}

enum class Brand : std::uint8_t { mysql, mariadb };

inline std::string post_header_lengths(Brand brand) {
  constexpr std::size_t kMySqlTypes = 42;
  constexpr std::size_t kMariaDbTypes = 171;
  std::string lengths = zeros(brand == Brand::mysql ? kMySqlTypes : kMariaDbTypes);
  lengths[1] = 13;
  lengths[3] = 8;
  lengths[18] = 8;
  lengths[29] = lengths[30] = lengths[31] = 10;
  return lengths;
}

inline std::string make_format(const std::string& lengths,
                               ChecksumAlgorithm checksum = ChecksumAlgorithm::none) {
  std::string version = "10.11.19-or-9.7.4";
  version.resize(50, '\0');
  return with_checksum(make_event(
      EventType::format_description,
      little_endian(4, 2) + version + zeros(4) + '\x13' + lengths + static_cast<char>(checksum)));
}

inline std::string make_format(Brand brand) {
  return make_format(post_header_lengths(brand));
}
inline std::string make_stop() {
  return make_event(EventType::stop, "");
}

}  // namespace cuckooguard::binlog
