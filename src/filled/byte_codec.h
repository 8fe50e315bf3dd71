// Numbers and texts as bytes: of operations in a log, and of dumps. Numbers are little-endian, a
// text has its length before it.
//
// Threads: any, on different ones. Lifetimes: a reader is a view.
// Errors: running out of bytes is a state: 0 and empty texts from then on, and `ok()` is false.
// Limits: a text has less than 2^32 bytes, but for long ones. Source: none; this program writes and
//   reads it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace cuckooguard::filled {

void put_number(std::string& out, std::uint64_t value, unsigned bytes);

template <std::unsigned_integral T>
void put(std::string& out, T value) {
  put_number(out, value, sizeof(T));
}
void put_text(std::string& out, std::string_view text);
void put_long_text(std::string& out, std::string_view text);

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <std::unsigned_integral T>
  T take() {
    return static_cast<T>(take_number(sizeof(T)));
  }
  std::string_view take_text() { return take_bytes(take<std::uint32_t>()); }
  std::string_view take_long_text() { return take_bytes(take<std::uint64_t>()); }
  std::string_view take_bytes(std::uint64_t size);

  bool ok() const { return ok_; }
  bool is_at_end() const { return left_.empty(); }
  std::string_view left() const { return left_; }

 private:
  std::uint64_t take_number(unsigned bytes);

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace cuckooguard::filled
