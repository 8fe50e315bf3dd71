// The next keys of a pipeline, or of one MGET: while one is judged, the next one is matched
// already, and its buckets are on their way from memory, which for a filter of 100 million keys
// takes as long as all the rest of a look-up.
//
// A hint: find() gives what Keyspace::match would, or nothing. Keys are copied, since the bytes
// that a client has sent may be others' by the time the key is judged.
//
// Threads: its worker's. Limits: keys above kKeyBytesMax are not looked at.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "guard/guarded_namespace.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::guard {

class KeysAhead {
 public:
  static constexpr std::size_t kKeyBytesMax = 64;

  // The oldest one is forgotten. What find() has given stays until this is called twice.
  void look(std::string_view key,
            const keyspace::Keyspace& keyspace,
            std::span<const GuardedNamespace> namespaces) noexcept {
    if (key.empty() || key.size() > kKeyBytesMax) {
      return;
    }
    Slot& slot = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    std::memcpy(slot.bytes.data(), key.data(), key.size());
    slot.size = key.size();
    slot.found = keyspace.match({slot.bytes.data(), slot.size}, slot.identity);
    if (slot.found.kind != keyspace::Lookup::Kind::unguarded) {
      const filter::LiveParts& filter = *namespaces[slot.found.ns].filter;
      filter.prefetch(filter.hash(slot.found.identity));
    }
  }

  const keyspace::Lookup* find(std::string_view key) const noexcept {
    const auto* const slot = std::ranges::find_if(slots_, [key](const Slot& each) {
      return each.size == key.size() && std::memcmp(each.bytes.data(), key.data(), each.size) == 0;
    });
    return slot == slots_.end() || key.empty() ? nullptr : &slot->found;
  }

  // The keyspace is another one.
  void forget() noexcept {
    for (Slot& slot : slots_) {
      slot.size = 0;
    }
  }

 private:
  struct Slot {
    std::array<char, kKeyBytesMax> bytes{};
    std::size_t size = 0;  // 0: none
    keyspace::Lookup found{};
    keyspace::IdentityBuffer identity;
  };

  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
};

}  // namespace cuckooguard::guard
