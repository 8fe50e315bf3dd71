#include "pgoutput/decode_error.h"

#include <string_view>

#include "text/hex.h"

namespace cuckooguard::pgoutput {

namespace {

std::string_view text_of(DecodeError::Reason reason) {
  switch (reason) {
    case DecodeError::Reason::truncated:
      return "a field reaches beyond the message";
    case DecodeError::Reason::trailing_bytes:
      return "bytes are left behind the last field";
    case DecodeError::Reason::malformed:
      return "a field has a value that no server writes";
    case DecodeError::Reason::too_large:
      return "it has more columns, or a longer name, than PostgreSQL can have";
    case DecodeError::Reason::unknown_type:
      return "its type is not known";
    case DecodeError::Reason::not_asked_for:
      return "it is part of a transaction that has not ended, which was not asked for";
  }
  return "unknown error";
}

// A letter as it is, any other byte by its number.
std::string name_of(std::uint8_t type) {
  if (type > ' ' && type <= '~') {
    return {'\'', static_cast<char>(type), '\''};
  }
  std::string number = "0x";
  text::append_hex(number, type);
  return number;
}

}  // namespace

std::string describe(const DecodeError& error) {
  return "message " + name_of(error.type) + ": " + std::string(text_of(error.reason));
}

}  // namespace cuckooguard::pgoutput
