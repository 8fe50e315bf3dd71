// This guest's doors: what app/guests.h asks for, and what its commands and its facts share.
//
// Threads: as guard::FactTable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/guests.h"
#include "traffic/sketches.h"

namespace cuckooguard::traffic {

// Sketches of each namespace, GUARD.TOP, and what is shown of them.
extern const app::TrafficGuest kGuest;

// Of each namespace. Nothing in GUARD.INFO, which is a worker's to answer: GUARD.TOP is for that.
void show(guard::FactTable& table);

// Null: they are not kept.
const Sketches* sketches_of(const guard::GuardedNamespace& space);
Pattern pattern_of(const guard::GuardParts& parts, std::uint32_t ns, guard::TimePoint now);
std::string text_of(double number, int digits);

}  // namespace cuckooguard::traffic
