// Takes fields off the front of bytes that nobody vouches for. Formats derive their own from it.
//
// Running out is a state, not a fault: from then on every read gives 0 or nothing, `ok` is false,
// and nothing outside the bytes is ever touched. So a decoder reads all its fields and asks `ok`
// once.
//
// Threads: any, on different cursors. Lifetimes: views into the bytes given.
// Errors: `ok`. Limits: integers of 8 bytes at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::text {

// Unsigned integers, by their first byte: the highest or the lowest.
constexpr std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}
constexpr std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : left_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return left_.size(); }
  bool at_end() const { return ok_ && left_.empty(); }

  void fail() {
    ok_ = false;
    left_ = {};
  }

  // Takes a 64 bit count as it was read, so that no sum or product can wrap.
  std::string_view bytes(std::uint64_t count) {
    if (left_.size() < count) {
      fail();
      return {};
    }
    const std::string_view taken = left_.substr(0, static_cast<std::size_t>(count));
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return bytes(left()); }
  void skip(std::uint64_t count) { bytes(count); }
  // All before the first NUL, which is taken, too.
  std::string_view nul_terminated() {
    const std::string_view taken = bytes(left_.find('\0'));  // more than there are, without one
    skip(1);
    return taken;
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace cuckooguard::text
