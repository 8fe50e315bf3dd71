// The bytes under which the filter knows a row: see keyspace.h for their layout. Keys and rows both
// come through here, so that they cannot differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

inline constexpr std::size_t kKeyBytesMax = 16 * 1024;

// Bytes that write_identity needs at most.
std::size_t identity_bytes_max(std::span<const std::string_view> values) noexcept;

// Values and types in identity order, at least one. The result views `values` or `room`.
std::string_view write_identity(std::span<const std::string_view> values,
                                std::span<const ValueType> types,
                                std::span<char> room) noexcept;

// A key of several values is known by itself where none is sure to end: under |ci in any spelling
// the same. As long as the key at most.
std::string_view write_key_identity(std::string_view key,
                                    bool folds,
                                    std::span<char> room) noexcept;

// The values, `count` of them, that write_identity() made an identity of; views into it. |ci values
// are folded.
std::vector<std::string_view> values_of_identity(std::string_view identity, std::size_t count);

bool is_printable_ascii(std::string_view text) noexcept;

// Without the spaces at its end, which a PAD SPACE collation ignores.
std::string_view without_trailing_spaces(std::string_view text) noexcept;

// Room for one identity that cannot be a view of the key: one per thread that calls
// Keyspace::match, allocated once, so that matching never allocates. What it holds is overwritten
// by the next call.
// It also knows which template claimed a key last, with which the next match begins.
// Limit: kKeyBytesMax, the longest key that is guarded at all, plus a length before each value.
class IdentityBuffer {
 public:
  std::span<char> identity() { return {bytes_.get(), kBytes}; }

  // Scratch for rows alone (may allocate): the key as rendered, the identity as the row's own
  // values give it, and another one that its key has.
  std::string rendered_key;
  std::string row_identity;
  std::string key_identity;

  std::uint32_t likely_template = 0;  // may be of another keyspace, or none

 private:
  static constexpr std::size_t kBytes = kKeyBytesMax + kPlaceholdersMax * sizeof(std::uint32_t);

  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
};

}  // namespace cuckooguard::keyspace
