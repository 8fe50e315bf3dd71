// The first key of the next command, for reading ahead: a hint, found without a scan where the
// client sends the same command again and again, as pipelines do.
//
// Threads: any; no I/O, no allocation.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cuckooguard::resp {

// `command`: a whole one, of which these are the arguments, views of it. Empty: `behind` begins
// with another command, or with a part of the same one.
inline std::string_view next_key(std::string_view command,
                                 std::span<const std::string_view> arguments,
                                 std::string_view behind) noexcept {
  constexpr std::string_view kBeforeLength = "\r\n$";
  constexpr std::size_t kDigitsMax = 3;  // longer keys are not worth it
  if (arguments.size() < 2) {
    return {};
  }
  // "*2\r\n$3\r\nGET" and "\r\n$"
  const auto same =
      static_cast<std::size_t>(arguments[0].data() + arguments[0].size() - command.data()) +
      kBeforeLength.size();
  if (command.size() < same || !behind.starts_with(command.substr(0, same)) ||
      !behind.substr(0, same).ends_with(kBeforeLength)) {
    return {};
  }
  behind.remove_prefix(same);
  std::size_t bytes = 0;
  std::size_t digits = 0;
  while (digits < behind.size() && digits < kDigitsMax && behind[digits] >= '0' &&
         behind[digits] <= '9') {
    bytes = bytes * 10 + static_cast<std::size_t>(behind[digits] - '0');
    ++digits;
  }
  const std::size_t begin = digits + 2;  // behind "\r\n"
  const bool is_whole = behind.size() >= begin + bytes && behind[digits] == '\r';
  return is_whole ? behind.substr(begin, bytes) : std::string_view();
}

}  // namespace cuckooguard::resp
