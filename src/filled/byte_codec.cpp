#include "filled/byte_codec.h"

namespace cuckooguard::filled {

void put_number(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  }
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

void put_long_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out.append(text);
}

std::string_view ByteReader::take_bytes(std::uint64_t size) {
  if (left_.size() < size) {
    ok_ = false;
    left_ = {};
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

std::uint64_t ByteReader::take_number(unsigned bytes) {
  std::uint64_t value = 0;
  unsigned i = 0;
  for (const char byte : take_bytes(bytes)) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << (8 * i++);
  }
  return value;
}

}  // namespace cuckooguard::filled
