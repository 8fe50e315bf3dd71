// What is not well with Redis or a source: why, and what to do about it. One text for GUARD.INFO,
// /status and the page; of a namespace's filter and overlay passing.h tells as much.
//
// Threads: any. Limits: as long as the words of Redis, or of a source.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "filter/reported_state.h"
#include "guard/process.h"
#include "redis/facts.h"

namespace cuckooguard::guard {

struct Trouble {
  std::string why{};
  std::string hint{};  // the remedy, and what holds until then
};

// Nothing: it is well. What Redis does not let the guard ask is its ControlReport's to tell.
std::optional<Trouble> trouble_with(const redis::Snapshot& redis);
std::optional<Trouble> trouble_with(const SourceStatus& source);

// In a few words; empty: it is well.
std::string_view why_of(redis::Availability availability);
// What an operator can do about it; empty: it is well.
std::string_view hint_of(filter::State state);
std::string_view hint_of(redis::Availability availability);

}  // namespace cuckooguard::guard
