// What people and metrics are shown of a namespace's traffic.
//
// Threads: as guard::FactTable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "guard/fact_table.h"
#include "traffic/sketches.h"

namespace cuckooguard::traffic {

// Null: they are not kept.
const Sketches* sketches_of(const guard::GuardedNamespace& space);
// The bytes that all of the namespace's keys share; of several templates the most.
std::size_t prefix_of(const guard::GuardParts& parts, std::uint32_t ns);
// As the log has it; of one that is cut, of what is left.
std::string hash_of(const KeyText& key, const guard::Process* process);
std::string text_of(double number, int digits);

// Of each namespace. Nothing in GUARD.INFO, which is a worker's to answer: GUARD.TOP is for that.
void show(guard::FactTable& table);

}  // namespace cuckooguard::traffic
