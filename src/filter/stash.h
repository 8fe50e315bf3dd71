// The stash: up to 63 whole hashes that found no room in their buckets.
//
// At the loads that filters are sized for it stays empty; it exists so that an insert that finds no
// path of moves never has to drop anything. Bit i of the mask says that entry i is in use; bit 63
// says that something could not be stored at all, and is never cleared: from then on every look-up
// answers "may exist", until a rebuild.
//
// An entry keeps its place: nothing is moved within the stash or from it into a bucket, so a reader
// that has seen the mask finds everything that stays. Taking an entry out counts as a removal and
// bumps the move counter first, like every other (table_reader.h).
//
// Threads:  stash_contains() by readers; the rest by the writer.
#pragma once

#include <bit>
#include <cstdint>

#include "filter/shared_cells.h"

namespace cuckooguard::filter {

inline constexpr std::uint64_t kStashSpilled = 1ULL << kStashEntries;

// `mask` as loaded before.
template <class Cells>
[[gnu::noinline, gnu::cold]] bool stash_contains(const Cells& cells,
                                                 std::uint64_t mask,
                                                 std::uint64_t hash) {
  if ((mask & kStashSpilled) != 0) {
    return true;
  }
  for (std::uint64_t left = mask; left != 0; left &= left - 1) {
    if (cells.load_stash(static_cast<unsigned>(std::countr_zero(left))) == hash) {
      return true;
    }
  }
  return false;
}

template <class Cells>
bool stash_spilled(const Cells& cells) {
  return (cells.load_stash_mask() & kStashSpilled) != 0;
}

// False: no room; the stash has spilled.
template <class Cells>
bool stash_insert(Cells& cells, std::uint64_t hash) {
  const std::uint64_t mask = cells.load_stash_mask();
  const auto entry = static_cast<unsigned>(std::countr_one(mask));
  if (entry >= kStashEntries) {
    cells.store_stash_mask(mask | kStashSpilled);
    return false;
  }
  cells.store_stash(entry, hash);
  cells.store_stash_mask(mask | (1ULL << entry));
  return true;
}

// Entries with this hash.
template <class Cells>
std::uint64_t stash_count(const Cells& cells, std::uint64_t hash) {
  std::uint64_t count = 0;
  for (std::uint64_t left = cells.load_stash_mask() & ~kStashSpilled; left != 0; left &= left - 1) {
    const auto entry = static_cast<unsigned>(std::countr_zero(left));
    count += cells.load_stash(entry) == hash ? 1 : 0;
  }
  return count;
}

// Takes out one entry with this hash, if there is one.
template <class Cells>
bool stash_erase(Cells& cells, std::uint64_t hash) {
  const std::uint64_t mask = cells.load_stash_mask();
  for (std::uint64_t left = mask & ~kStashSpilled; left != 0; left &= left - 1) {
    const auto entry = static_cast<unsigned>(std::countr_zero(left));
    if (cells.load_stash(entry) == hash) {
      cells.store_moves(cells.load_moves() + 1);
      cells.store_stash_mask(mask & ~(1ULL << entry));
      return true;
    }
  }
  return false;
}

}  // namespace cuckooguard::filter
