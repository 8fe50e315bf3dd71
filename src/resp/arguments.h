// The arguments of the command that was scanned last: views, and room for inline arguments that had
// quotes.
//
// Threads: one. Lifetimes: a view points into the scanned input or into this object; it is valid
//   until the next RequestScanner::next() with this object, and no longer than the input stays
//   where it is.
// Limits: grows to the largest command seen and is never freed: at most 32 thousand views (an
//   inline command of 64 KiB), 512 KiB, and 64 KiB of unquoted text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::resp {

class Arguments {
 public:
  std::span<const std::string_view> views() const { return {views_.data(), size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view operator[](std::size_t index) const { return views_[index]; }

  // For the scanner, and for tests of those who read arguments.
  void clear() { size_ = 0; }
  void add(std::string_view argument) {
    if (size_ == views_.size()) {
      grow();
    }
    views_[size_++] = argument;
  }
  // Room for one inline line's unquoted arguments, or for an error text. Unquoting never lengthens,
  // so whoever reserves the line's length first may keep views of it.
  std::string& text() { return text_; }

 private:
  // Out of line, so that add() stays small where it is inlined.
  [[gnu::noinline]] void grow() { views_.resize(std::max<std::size_t>(64, views_.size() * 2)); }

  std::vector<std::string_view> views_;  // its size is the room there is, size_ what is in use
  std::size_t size_ = 0;
  std::string text_;
};

}  // namespace cuckooguard::resp
