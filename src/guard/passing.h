// Why all keys of a namespace pass, whatever they are, and for how long: one text for the log,
// GUARD.INFO, GUARD.EXPLAIN, /status and the page. Not about Redis.
//
// Threads: any, between Epochs::Reader enter() and leave(). Limits: as long as a source's words.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "guard/guarded_namespace.h"
#include "guard/overlay.h"

namespace cuckooguard::guard {

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
