// Where one reply ends, found by hand: the judge must not agree with the product because it uses
// its code.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cuckooguard::simulation {

// The bytes of the reply or push at the front; 0: not all of it is here; npos: this is no RESP.
inline std::size_t frame_bytes(std::string_view bytes) {
  std::size_t at = 0;
  for (long long left = 1; left > 0; --left) {
    const std::size_t end = bytes.find("\r\n", at);
    if (end == std::string_view::npos) {
      return 0;
    }
    const char type = bytes[at];
    const long long number =
        std::strtoll(std::string(bytes.substr(at + 1, end - at - 1)).c_str(), nullptr, 10);
    at = end + 2;
    switch (type) {
      case '$':
      case '=':
      case '!':
        at += number < 0 ? 0 : static_cast<std::size_t>(number) + 2;
        break;
      case '*':
      case '>':
      case '~':
        left += number < 0 ? 0 : number;
        break;
      case '%':
        left += 2 * number;
        break;
      case '+':
      case '-':
      case ':':
      case '_':
      case '#':
      case ',':
      case '(':
        break;
      default:
        return std::string_view::npos;
    }
    if (at > bytes.size()) {
      return 0;
    }
  }
  return at;
}

}  // namespace cuckooguard::simulation
