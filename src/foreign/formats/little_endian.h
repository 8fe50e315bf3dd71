// Reads little-endian integers off the front of bytes. Running out is a state: 0 from then on, and
// `ok` is false.
//
// Threads: any, on different ones. Lifetimes: a view. Errors: `ok`. Limits: none.
// Source: none.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::foreign {

class LittleEndian {
 public:
  explicit LittleEndian(std::string_view bytes) : left_(bytes) {}

  bool ok() const { return ok_; }

  template <std::unsigned_integral T>
  T take() {
    if (!skip(sizeof(T))) {
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
      value = (value << 8U) | static_cast<unsigned char>(taken_[i]);
    }
    return static_cast<T>(value);
  }

  bool skip(std::size_t bytes) {
    if (left_.size() < bytes) {
      left_ = {};
      ok_ = false;
      return false;
    }
    taken_ = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return true;
  }

 private:
  std::string_view left_;
  std::string_view taken_;
  bool ok_ = true;
};

}  // namespace cuckooguard::foreign
