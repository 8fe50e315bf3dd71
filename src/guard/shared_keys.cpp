#include "guard/shared_keys.h"

#include <algorithm>

namespace cuckooguard::guard {

using filter::Finding;

SharedFinding find_shared(const SharedKey& asked,
                          filter::Freshness freshness,
                          keyspace::IdentityBuffer& scratch) noexcept {
  const keyspace::Keyspace& keyspace = asked.keyspace;
  const std::span<const GuardedNamespace> namespaces = asked.namespaces;
  const keyspace::Lookup& found = asked.found;
  const int db = namespaces[found.ns].db;
  for (const std::uint32_t maker : keyspace.text_makers_of(found)) {
    const std::uint32_t ns = keyspace.namespace_of(maker);
    if (namespaces[ns].db == db && keyspace.template_at(maker).may_have_made(asked.key) &&
        !namespaces[ns].filter->is_fresh(freshness)) {
      return {.finding = Finding::not_fresh, .other = ns};
    }
  }
  const std::span<const std::uint32_t> makers = keyspace.makers_of(found);
  if (std::ranges::none_of(makers, [&](std::uint32_t maker) {
        return keyspace.template_at(maker).may_have_made(asked.key);
      })) {
    return {};
  }
  const filter::LiveParts& own = *namespaces[found.ns].filter;
  const auto removals = [&] {
    std::uint64_t sum = own.removals();
    for (const std::uint32_t maker : makers) {
      sum += namespaces[keyspace.namespace_of(maker)].filter->removals();
    }
    return sum;
  };
  const std::uint64_t before = removals();
  if (const Finding finding =
          own.find({own.hash(found.identity), found.number, found.identity}, freshness);
      finding != Finding::absent) {
    return {.finding = finding};
  }
  for (const std::uint32_t maker : makers) {
    const keyspace::Reading row = keyspace.read(maker, asked.key, scratch);
    const GuardedNamespace& space = namespaces[row.ns];
    if (row.kind == keyspace::Reading::Kind::none || space.db != db) {
      continue;
    }
    const Finding finding =
        row.kind == keyspace::Reading::Kind::unsure
            ? Finding::may_exist
            : space.filter->find({.hash = space.filter->hash(row.identity),
                                  .number = row.number,
                                  .identity = row.identity,
                                  .may_be_any_isolated = row.may_be_any_isolated},
                                 freshness);
    if (finding != Finding::absent) {
      return {.finding = finding,
              .other = row.ns == found.ns ? std::nullopt : std::optional(row.ns)};
    }
  }
  return {.finding = removals() == before ? Finding::absent : Finding::may_exist};
}

}  // namespace cuckooguard::guard
