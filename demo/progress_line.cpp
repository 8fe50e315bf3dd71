#include "progress_line.h"

#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

namespace cuckooguard::demo {
namespace {

constexpr std::chrono::milliseconds kOnTerminal{100};
constexpr std::chrono::seconds kElsewhere{3};

}  // namespace

ProgressLine::ProgressLine()
    : is_terminal_(isatty(STDOUT_FILENO) != 0),
      due_(std::chrono::steady_clock::now() + (is_terminal_ ? kOnTerminal : kElsewhere)) {}

void ProgressLine::say(std::string_view text) {
  erase();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void ProgressLine::show(std::string_view text) {
  const auto now = std::chrono::steady_clock::now();
  if (now < due_) {
    return;
  }
  if (!is_terminal_) {
    due_ = now + kElsewhere;
    say(text);
    return;
  }
  due_ = now + kOnTerminal;
  erase();
  fmt::print("{}", text);
  shown_ = text.size();
  std::fflush(stdout);
}

void ProgressLine::erase() {
  if (shown_ > 0) {
    fmt::print("\r{:{}}\r", "", shown_);
    shown_ = 0;
  }
}

}  // namespace cuckooguard::demo
