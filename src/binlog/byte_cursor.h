// Reads little-endian integers and texts off the front of bytes that nobody vouches for.
//
// Running out is a state, not a fault: from then on every read gives 0 or nothing, `ok` is false,
// and nothing outside the bytes is ever touched. So a decoder reads all its fields and asks `ok`
// once.
//
// Threads: any, on different cursors. Lifetimes: views into the bytes given.
// Errors: `ok`. Limits: none of its own.
// Source: MySQL's and MariaDB's protocol documentation, "Integer Types" and "String Types".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::binlog {

class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  bool at_end() const { return ok_ && at_ == end_; }

  void fail() {
    ok_ = false;
    at_ = end_;
  }

  // An unsigned integer of `width` bytes, 8 at most.
  std::uint64_t integer(std::size_t width) {
    if (left() < width) {
      fail();
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(at_[i])} << (8 * i);
    }
    at_ += width;
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(integer(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u48() { return integer(6); }
  std::uint64_t u64() { return integer(8); }

  // Takes a 64 bit count as it was read, so that no sum can wrap.
  std::string_view bytes(std::uint64_t count) {
    if (left() < count) {
      fail();
      return {};
    }
    const std::string_view taken(at_, static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }
  std::string_view rest() { return bytes(left()); }
  void skip(std::uint64_t count) { bytes(count); }

  // The protocol's "length-encoded" forms: one byte, or a marker and 2, 3 or 8 bytes. The marker of
  // NULL (251) is none.
  std::uint64_t length_encoded() {
    constexpr std::uint8_t kNull = 251;
    constexpr std::uint8_t kTwoBytes = 252;
    constexpr std::uint8_t kThreeBytes = 253;
    constexpr std::uint8_t kEightBytes = 254;
    const std::uint8_t first = u8();
    if (first < kNull) {
      return first;
    }
    switch (first) {
      case kTwoBytes:
        return integer(2);
      case kThreeBytes:
        return integer(3);
      case kEightBytes:
        return integer(8);
      default:
        fail();
        return 0;
    }
  }
  std::string_view length_encoded_text() {
    const std::uint64_t length = length_encoded();
    return bytes(length);
  }

 private:
  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace cuckooguard::binlog
