// The name that an XA transaction bears from XA PREPARE to its XA COMMIT or XA ROLLBACK: fixed
// size, comparable.
//
// Threads: any.
// Limits: 64 bytes for each of the two parts, as the X/Open XA specification has it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cuckooguard::binlog {

class Xid {
 public:
  static constexpr std::size_t kPartBytesMax = 64;

  Xid() = default;

  // Nothing if a part is too long, or the global one is empty.
  static std::optional<Xid> make(std::uint32_t format,
                                 std::string_view global,
                                 std::string_view branch);

  std::uint32_t format() const { return format_; }
  std::string_view global() const { return {bytes_.data(), global_bytes_}; }
  std::string_view branch() const { return {bytes_.data() + global_bytes_, branch_bytes_}; }

  // Unused bytes are zero, so that equal names are equal byte for byte.
  auto operator<=>(const Xid&) const = default;

 private:
  std::uint32_t format_ = 0;
  std::uint8_t global_bytes_ = 0;
  std::uint8_t branch_bytes_ = 0;
  std::array<char, 2 * kPartBytesMax> bytes_{};
};

}  // namespace cuckooguard::binlog
