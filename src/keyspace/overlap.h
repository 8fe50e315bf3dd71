// Whether one key can belong to both of two key templates: an exact test, with such a key as its proof.
//
// A breadth-first walk through the product of their automata (key_automaton.h): the same parse as KeyTemplate::fit,
// byte classes and integer ranges respected, wildcards taken for whatever an application may put there.
//
// Called by: Keyspace::build. Threads: free function without state.
// Limits: pairs of states looked at; two templates that are not told apart within it count as overlapping.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

inline constexpr std::size_t kOverlapStatesMax = 200'000;

// A shortest key that belongs to both (empty if the limit was reached first); nullopt if there is none.
std::optional<std::string> overlap(const KeyTemplate& left,
                                   const KeyTemplate& right,
                                   std::size_t states_max = kOverlapStatesMax);

}  // namespace cuckooguard::keyspace
