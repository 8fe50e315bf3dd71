// What a guard's replication slot is called: cuckooguard_SOURCE_ID, in letters that PostgreSQL
// allows, at most 63. An operator finds all slots of guards by their beginning.
//
// Threads: free functions.
#pragma once

#include <string>
#include <string_view>

#include "filter/key_hash.h"

namespace cuckooguard::source::postgres {

inline constexpr std::string_view kSlotPrefix = "cuckooguard_";

// One that is kept: of a storage directory, which has a secret of its own, and a source.
std::string slot_name(std::string_view source, const filter::HashSecret& secret);
// One that ends with its session: another one each time.
std::string temporary_slot_name(std::string_view source);

}  // namespace cuckooguard::source::postgres
