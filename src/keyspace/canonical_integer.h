// Integers as a database prints them and no other way: an optional '-' (int64 only, not before 0),
// no '+', no leading zero, no space, in range. SQL would take `007`, ` 7` or `7abc` for 7; we do
// not guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuckooguard::keyspace {

// False: it is not one, and `number` is unchanged.
bool read_canonical_uint64(std::string_view text, std::uint64_t& number) noexcept;

// In place, since an optional that is returned by way of memory costs more than what it is read of.
inline std::optional<std::uint64_t> canonical_uint64(std::string_view text) noexcept {
  std::uint64_t number = 0;
  return read_canonical_uint64(text, number) ? std::optional(number) : std::nullopt;
}
std::optional<std::int64_t> canonical_int64(std::string_view text) noexcept;

}  // namespace cuckooguard::keyspace
