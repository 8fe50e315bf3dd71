// Bytes in a row: appended behind, taken from the front, without moving the rest for every byte
// taken.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuckooguard::simulation {

class ByteQueue {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(taken_); }
  std::size_t size() const { return bytes_.size() - taken_; }
  bool empty() const { return size() == 0; }

  void append(std::string_view bytes) { bytes_.append(bytes); }
  void take(std::size_t bytes) {
    taken_ += bytes;
    if (taken_ * 2 >= bytes_.size()) {
      bytes_.erase(0, taken_);
      taken_ = 0;
    }
  }
  void clear() {
    bytes_.clear();
    taken_ = 0;
  }

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace cuckooguard::simulation
