// What is wrong with Redis, a source, or a namespace's filter and overlay: why, and what to do
// about it. One text for the log, GUARD.INFO, GUARD.EXPLAIN, /status and the page.
//
// Threads: any; those that take a namespace or an overlay, between Epochs::Reader enter() and
// leave(). Limits: as long as the words of Redis, or of a source.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "filter/reported_state.h"
#include "guard/guarded_namespace.h"
#include "guard/overlay.h"
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

// Why all keys of a namespace pass, and for how long. Not about Redis.
struct Passing {
  std::string why{};   // empty: they do not, but for each its own reason
  std::string hint{};  // what an operator can do about it; empty as well
  // What was written before is not known: so long they pass even if the filter is up to date.
  std::optional<std::chrono::nanoseconds> left{};
};
Passing passing(const GuardedNamespace& space, TimePoint now);
// The same of a namespace in use, named `name`: with its mode, too.
Passing passing_in_use(const GuardedNamespace& space, std::string_view name, TimePoint now);

// Of the overlay alone, with the time that is left: "all keys pass for 42 s more: the guard has
// just begun ..."; empty: it does not hold all.
std::string why_all_are_held(const Overlay& overlay, TimePoint now);

}  // namespace cuckooguard::guard
