// Rows, and whether who looks for one of their keys is told that they may exist.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/keyspace.h"
#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace::testing {

using Row = std::vector<std::optional<std::string_view>>;

inline NamespaceTemplates space(std::string name, const std::vector<std::string>& texts) {
  NamespaceTemplates result{std::move(name), {}, false};
  for (const std::string& text : texts) {
    result.templates.push_back(must_parse(text));
  }
  return result;
}

// Whether who looks for the key is told that the row may exist: by its namespace's filter, or since
// the key passes.
inline bool may_be(const Keyspace& keyspace,
                   std::uint32_t ns,
                   const Row& values,
                   std::string_view key) {
  IdentityBuffer of_row;
  IdentityBuffer of_key;
  const auto accepted = keyspace.identity_of_row(ns, values, of_row);
  const Lookup found = keyspace.match(key, of_key);
  if (found.kind == Lookup::Kind::unguarded) {
    return true;
  }
  if (!accepted) {  // the namespace knows nothing: all passes that it is asked for
    const auto is_its = [&](std::uint32_t maker) { return keyspace.namespace_of(maker) == ns; };
    return found.ns == ns || std::ranges::any_of(keyspace.text_makers_of(found), is_its) ||
           std::ranges::any_of(keyspace.makers_of(found), [&](std::uint32_t maker) {
             const Reading read = keyspace.read(maker, key, of_key);
             return read.ns == ns && read.kind != Reading::Kind::none;
           });
  }
  const std::optional<RowIdentity>& row = *accepted;
  const auto is_it = [&](std::uint32_t of, std::string_view identity) {
    return of == ns && row &&
           (row->is_isolated ? keyspace.pattern_of_row(ns, values).matches(identity)
                             : row->identity == identity);
  };
  return is_it(found.ns, found.identity) ||
         std::ranges::any_of(keyspace.makers_of(found), [&](std::uint32_t maker) {
           const Reading read = keyspace.read(maker, key, of_key);
           return read.kind == Reading::Kind::unsure ||
                  (read.kind == Reading::Kind::sure &&
                   (is_it(read.ns, read.identity) ||
                    (read.ns == ns && read.may_be_any_isolated && row && row->is_isolated)));
         });
}

}  // namespace cuckooguard::keyspace::testing
