// Keys that rows of several templates can have: `page:draft:42` is claimed by `page:draft:{id}`,
// and is also the key of the row `draft:42` by `page:{slug}`. It is absent only if none of them has
// it (keyspace/keyspace.h). Where only a text in place of an integer could have it, there is no
// such row as long as that namespace's filters are fresh: with one they never are.
//
// Must: nobody falls between two namespaces. A row may leave one for another: so `removals` is read
// before and after, as in filter/parts_lookup.h.
//
// Threads: between Epochs::Reader enter() and leave(). Cost: nothing where no templates share keys;
// else a look-up for each that could have made the key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "filter/live_parts.h"
#include "guard/guarded_namespace.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::guard {

struct SharedFinding {
  filter::Finding finding = filter::Finding::absent;
  std::optional<std::uint32_t>
      other;  // the namespace that says so, if it is not the key's own by another template
};

struct SharedKey {
  const keyspace::Keyspace& keyspace;
  std::span<const GuardedNamespace> namespaces;  // in the keyspace's order
  const keyspace::Lookup& found;                 // what match() says of the key
  std::string_view key;
};
// `scratch`: another than was given to match().
SharedFinding find_shared(const SharedKey& asked,
                          filter::Freshness freshness,
                          keyspace::IdentityBuffer& scratch) noexcept;

}  // namespace cuckooguard::guard
