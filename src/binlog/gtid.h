// The numbers that name a transaction: MySQL's and MariaDB's. They have nothing in common but the
// name.
//
// Threads: any.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::binlog {

// The origin of the numbers: a server's UUID and, from MySQL 8.3 on, perhaps a tag.
struct MySqlGtidSource {
  static constexpr std::size_t kTagBytesMax = 32;

  std::array<std::uint8_t, 16> uuid{};
  std::array<char, kTagBytesMax> tag_bytes{};  // zeros behind the tag
  std::uint8_t tag_size = 0;

  std::string_view tag() const { return {tag_bytes.data(), tag_size}; }
  // False if it is no tag; upper case becomes lower, as the server has it.
  bool set_tag(std::string_view text);

  auto operator<=>(const MySqlGtidSource&) const = default;
};

struct MySqlGtid {
  // The server's last number is 2^63 - 2.
  static constexpr std::uint64_t kNumberMax = 0x7ffffffffffffffe;

  MySqlGtidSource source;
  std::uint64_t number = 0;

  bool operator==(const MySqlGtid&) const = default;
};

struct MariaDbGtid {
  std::uint32_t domain = 0;
  std::uint32_t server_id = 0;
  std::uint64_t sequence = 0;

  bool operator==(const MariaDbGtid&) const = default;
};

}  // namespace cuckooguard::binlog
