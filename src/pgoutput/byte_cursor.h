// Reads big-endian integers and texts off the front of bytes that nobody vouches for.
//
// Running out is a state, not a fault: from then on every read gives 0 or nothing, `ok` is false,
// and nothing outside the bytes is ever touched. So a decoder reads all its fields and asks `ok`
// once.
//
// Threads: any, on different cursors. Lifetimes: views into the bytes given.
// Errors: `ok`. Limits: none of its own.
// Source: PostgreSQL's "Message Data Types".
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cuckooguard::pgoutput {

class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  void fail() {
    ok_ = false;
    at_ = end_;
  }

  std::uint8_t u8() { return integer<std::uint8_t>(); }
  std::uint16_t u16() { return integer<std::uint16_t>(); }
  std::uint32_t u32() { return integer<std::uint32_t>(); }
  std::uint64_t u64() { return integer<std::uint64_t>(); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }

  // Takes a 64 bit count, so that no product of what was read can wrap.
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

  // The protocol's String: all to the first NUL, which is not part of it.
  std::string_view text() {
    const std::size_t length = std::string_view(at_, left()).find('\0');
    if (length == std::string_view::npos) {
      fail();
      return {};
    }
    const std::string_view taken(at_, length);
    at_ += length + 1;
    return taken;
  }

 private:
  template <std::unsigned_integral T>
  T integer() {
    if (left() < sizeof(T)) {
      fail();
      return 0;
    }
    T value = 0;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    if constexpr (std::endian::native == std::endian::little) {
      value = std::byteswap(value);
    }
    return value;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace cuckooguard::pgoutput
