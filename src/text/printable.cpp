#include "text/printable.h"

#include "text/ascii.h"
#include "text/hex.h"

namespace cuckooguard::text {

std::string printable(std::string_view bytes, std::size_t bytes_max) {
  std::string text = "\"";
  for (const char c : bytes.substr(0, bytes_max)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (is_printable(c)) {
      text += c;
    } else {
      text += "\\x";
      append_hex(text, static_cast<unsigned char>(c));
    }
  }
  text += '"';
  if (bytes.size() > bytes_max) {
    text += "... (" + std::to_string(bytes.size()) + " bytes)";
  }
  return text;
}

}  // namespace cuckooguard::text
