#include "keyspace/identity.h"

#include <algorithm>
#include <cstring>

#include "text/ascii.h"

namespace cuckooguard::keyspace {
namespace {

constexpr std::size_t kLengthBytes = 4;

char* write_length(std::size_t length, char* out) noexcept {
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    *out++ = static_cast<char>((length >> (8 * i)) & 0xff);
  }
  return out;
}

char* write_value(std::string_view value, ValueType type, char* out) noexcept {
  if (is_folded(type)) {
    return std::ranges::transform(value, out, text::to_lower).out;
  }
  std::memcpy(out, value.data(), value.size());
  return out + value.size();
}

}  // namespace

std::size_t identity_bytes_max(std::span<const std::string_view> values) noexcept {
  std::size_t bytes = 0;
  for (const std::string_view value : values) {
    bytes += kLengthBytes + value.size();
  }
  return bytes;
}

std::string_view write_identity(std::span<const std::string_view> values,
                                std::span<const ValueType> types,
                                std::span<char> room) noexcept {
  if (values.size() == 1 && !is_folded(types[0])) {
    return values[0];
  }
  char* out = room.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_last = i + 1 == values.size();
    const std::string_view value =
        is_folded(types[i]) ? without_trailing_spaces(values[i]) : values[i];
    out = is_last ? out : write_length(value.size(), out);
    out = write_value(value, types[i], out);
  }
  return {room.data(), static_cast<std::size_t>(out - room.data())};
}

std::string_view write_key_identity(std::string_view key,
                                    bool folds,
                                    std::span<char> room) noexcept {
  if (!folds) {
    return key;
  }
  char* out = room.data();
  for (const char c : key) {
    *out = text::to_lower(c);
    out += c == ' ' ? 0 : 1;
  }
  return {room.data(), static_cast<std::size_t>(out - room.data())};
}

std::vector<std::string_view> values_of_identity(std::string_view identity, std::size_t count) {
  constexpr unsigned kBitsPerByte = 8;
  std::vector<std::string_view> values;
  while (values.size() + 1 < count) {
    std::size_t size = 0;
    for (std::size_t byte = kLengthBytes; byte-- > 0;) {
      size = size << kBitsPerByte | static_cast<unsigned char>(identity.at(byte));
    }
    values.push_back(identity.substr(kLengthBytes, size));
    identity.remove_prefix(kLengthBytes + size);
  }
  values.push_back(identity);
  return values;
}

bool is_printable_ascii(std::string_view text) noexcept {
  return std::ranges::all_of(text, text::is_printable);
}

std::string_view without_trailing_spaces(std::string_view text) noexcept {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace cuckooguard::keyspace
