// Numbers as RedisBloom's dumps have them: packed, the lowest byte first.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace cuckooguard::foreign::testing {

class LittleEndianWriter {
 public:
  template <std::unsigned_integral T>
  LittleEndianWriter& put(std::type_identity_t<T> value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>((std::uint64_t{value} >> (8 * i)) & 0xFF));
    }
    return *this;
  }
  LittleEndianWriter& put(double value) {
    return put<std::uint64_t>(std::bit_cast<std::uint64_t>(value));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace cuckooguard::foreign::testing
