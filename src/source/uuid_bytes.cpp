#include "source/uuid_bytes.h"

#include <array>

#include "keyspace/canonical_text.h"

namespace cuckooguard::source {
namespace {

// Of each byte of the text, in its order: where it is kept.
constexpr std::array<std::size_t, kUuidBytes> kPlain{
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::array<std::size_t, kUuidBytes> kSwapped{
    4, 5, 6, 7, 2, 3, 0, 1, 8, 9, 10, 11, 12, 13, 14, 15};

const std::array<std::size_t, kUuidBytes>& places(config::UuidOrder order) {
  return order == config::UuidOrder::swapped ? kSwapped : kPlain;
}

bool is_dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

std::string_view write_uuid(std::string_view bytes,
                            config::UuidOrder order,
                            std::span<char, kUuidTextBytes> text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::size_t at = 0;
  for (std::size_t i = 0; i < kUuidBytes; ++i) {
    if (is_dash_before(i)) {
      text[at++] = '-';
    }
    const std::size_t place = places(order)[i];
    const auto byte = place < bytes.size() ? static_cast<unsigned char>(bytes[place]) : 0U;
    text[at++] = kDigits[byte >> 4U];
    text[at++] = kDigits[byte & 0xfU];
  }
  return {text.data(), text.size()};
}

std::string hex_of_uuid(std::string_view text, config::UuidOrder order) {
  if (!keyspace::is_canonical(keyspace::ValueType::uuid, text)) {
    return {};
  }
  std::string hex(2 * kUuidBytes, '0');
  std::size_t at = 0;
  for (std::size_t i = 0; i < kUuidBytes; ++i) {
    at += is_dash_before(i) ? 1 : 0;
    hex.replace(2 * places(order)[i], 2, text.substr(at, 2));
    at += 2;
  }
  return hex;
}

std::optional<std::string> why_not_text(const keyspace::Placeholder& placeholder) {
  if (placeholder.type == keyspace::ValueType::uuid || placeholder.rest) {
    return std::nullopt;
  }
  return "stores UUIDs as 16 bytes, but keys contain text; write {" + placeholder.name +
         ":uuid}, or {" + placeholder.name + ":rest} if keys contain the 16 bytes";
}

}  // namespace cuckooguard::source
