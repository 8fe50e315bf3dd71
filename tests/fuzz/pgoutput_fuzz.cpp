// Any bytes as what COPY BOTH carries: messages one after the other, each behind its length in two
// bytes, all for one decoder.
//
// Whatever is read, is what the bytes say: written again, they are the same. That touches every
// value, too.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "pgoutput/made_messages.h"
#include "pgoutput/message_decoder.h"

namespace {

using namespace cuckooguard::pgoutput;

template <typename T>
void check(std::string_view bytes, const std::expected<T, DecodeError>& message) {
  const bool holds = message ? bytes_of(*message) == bytes : !describe(message.error()).empty();
  if (!holds) {
    __builtin_trap();
  }
}

void check(std::string_view bytes, Lsn lsn) {
  const auto parsed = parse_lsn(bytes);
  if (parse_lsn(lsn.text()) != lsn || (parsed && parse_lsn(parsed->text()) != parsed)) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteCursor cursor({reinterpret_cast<const char*>(data), size});
  MessageDecoder decoder;
  while (cursor.left() >= 2) {
    const std::size_t bytes = cursor.u16();
    const std::string_view content = cursor.bytes(std::min(bytes, cursor.left()));
    const auto message = decode_replication_message(content);
    check(content, message);
    check(content, decoder.decode(content));
    if (message && std::holds_alternative<WalMessage>(*message)) {
      const auto& piece = std::get<WalMessage>(*message);
      check(piece.payload, decoder.decode(piece.payload));
      check(piece.payload, piece.start);
    }
  }
  return 0;
}
