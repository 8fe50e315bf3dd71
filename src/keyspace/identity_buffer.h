// Room for one identity that cannot be a view of the key: one per thread that calls
// Keyspace::match, allocated once, so that matching never allocates. What it holds is overwritten
// by the next call.
//
// Limit: kKeyBytesMax, the longest key that is guarded at all, plus a length before each value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

inline constexpr std::size_t kKeyBytesMax = 16 * 1024;

class IdentityBuffer {
 public:
  std::span<char> identity() { return {bytes_.get(), kBytes}; }

  // Scratch for rows alone (may allocate): the key as rendered, the identity as the row's own
  // values give it, and another one that its key has.
  std::string rendered_key;
  std::string row_identity;
  std::string key_identity;

 private:
  static constexpr std::size_t kBytes = kKeyBytesMax + kPlaceholdersMax * sizeof(std::uint32_t);

  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
};

}  // namespace cuckooguard::keyspace
