// What is going on: one line that renews itself on a terminal, a plain line every few seconds
// otherwise.
//
// Threads: the main thread's.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace cuckooguard::demo {

class ProgressLine {
 public:
  ProgressLine();

  // Something that stays.
  void say(std::string_view text);
  // How far something is; shown at most a few times per second, or every few seconds.
  void show(std::string_view text);

 private:
  void erase();

  bool is_terminal_;
  std::size_t shown_ = 0;  // bytes of the line that can be renewed
  std::chrono::steady_clock::time_point due_;
};

}  // namespace cuckooguard::demo
