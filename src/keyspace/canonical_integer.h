// Integers as a database prints them and no other way: an optional '-' (int64 only, not before 0),
// no '+', no leading zero, no space, in range. SQL would take `007`, ` 7` or `7abc` for 7; we do
// not guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuckooguard::keyspace {

std::optional<std::uint64_t> canonical_uint64(std::string_view text) noexcept;
std::optional<std::int64_t> canonical_int64(std::string_view text) noexcept;

}  // namespace cuckooguard::keyspace
