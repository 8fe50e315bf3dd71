// Whether two key templates can both match one key: an exact test, with such a key as its proof.
//
// Each template is a small deterministic automaton that reads a key byte by byte exactly as KeyTemplate::fit parses it
// (its first-occurrence rule included); the test is a breadth-first walk through the product of the two. Integer types
// narrow what a placeholder takes to canonical integers in range. What fit() calls uncertain counts as matched.
//
// who: Keyspace::build. threads: free function without state.
// limits: kOverlapStatesMax pairs of states; two templates too alike to be told apart within it count as overlapping.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

inline constexpr std::size_t kOverlapStatesMax = 200'000;

// A shortest key that both match (empty if the limit was reached first); nullopt if there is none.
std::optional<std::string> overlap(const KeyTemplate& left, const KeyTemplate& right);

}  // namespace cuckooguard::keyspace
