// What the fuzz targets of a fleet share: keys, and whether two states are the same.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <tuple>

#include "fleet/chain.h"
#include "fleet/keys.h"

namespace cuckooguard::fleet {

inline void require(bool holds,
                    const std::source_location& where = std::source_location::current()) {
  if (!holds) {
    std::fprintf(stderr, "broken: %s:%u\n", where.file_name(), where.line());
    std::abort();
  }
}

// Read once: their files are gone when a crash ends the program.
struct FuzzKeys {
  explicit FuzzKeys(const KeyFiles& files = KeyFiles())
      : signing(files.signing()), verifying(files.verifying()) {}

  SigningKey signing;
  VerifyingKeys verifying;
};

inline bool is_same(const TableState& one, const TableState& other) {
  const auto all = [](const TableState& state) {
    return std::tie(state.version,
                    state.is_ready,
                    state.why,
                    state.largest_id,
                    state.digest,
                    state.changed_at,
                    state.deleted);
  };
  return all(one) == all(other);
}

inline bool is_same(const ChainBegin& one, const ChainBegin& other) {
  const auto texts = [](const ChainBegin& begin) {
    return std::tie(begin.seq, begin.tag, begin.epoch, begin.position, begin.end, begin.list);
  };
  return texts(one) == texts(other) &&
         std::ranges::equal(one.tables, other.tables, [](const auto& here, const auto& there) {
           return here.first == there.first && is_same(here.second, there.second);
         });
}

}  // namespace cuckooguard::fleet
