// Whether one key can belong to both of two key templates: an exact test, with such a key as its
// proof. And whether a row of one can have a key that the other claims, since a value may have what
// should end it.
//
// A breadth-first walk through the product of their automata (key_automaton.h): the same parse as
// KeyTemplate::fit, byte classes and integer ranges respected, wildcards taken for whatever an
// application may put there.
//
// Threads: free function without state.
// Limits: pairs of states looked at; two templates that are not told apart within it count as
// overlapping.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

inline constexpr std::size_t kOverlapStatesMax = 200'000;
inline constexpr std::size_t kMakerStatesMax = 5'000;

// A shortest key that belongs to both (empty if the limit was reached first); nullopt if there is
// none.
std::optional<std::string> overlap(const KeyTemplate& left,
                                   const KeyTemplate& right,
                                   std::size_t states_max = kOverlapStatesMax);

// Whether a row can have a key by `maker` that `claimer` takes for its own; `canonical_keys`: its
// namespace's. In doubt true.
bool may_make_keys_of(const KeyTemplate& maker, const KeyTemplate& claimer, bool canonical_keys);

}  // namespace cuckooguard::keyspace
