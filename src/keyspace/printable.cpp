#include "keyspace/printable.h"

namespace cuckooguard::keyspace {

std::string printable(std::string_view bytes, std::size_t bytes_max) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : bytes.substr(0, bytes_max)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  text += '"';
  if (bytes.size() > bytes_max) {
    text += "... (" + std::to_string(bytes.size()) + " bytes)";
  }
  return text;
}

}  // namespace cuckooguard::keyspace
