// Reads that are almost like another: for arguments that are wrong, or right against all odds.
#pragma once

#include <vector>

#include "harness/read_shapes.h"

namespace cuckooguard::harness {

// All that is one step away: an argument left out, doubled, in another place, replaced by one of
// some notorious words or followed by it; and all shorter ones. Never BLOCK: it may wait for ever.
std::vector<Words> mutations_of(const Words& read);

}  // namespace cuckooguard::harness
