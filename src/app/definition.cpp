#include <algorithm>

#include "app/generation.h"

namespace cuckooguard::app {
namespace {

bool is_rival_of(const config::Namespace& space, std::string_view prefix) {
  return std::ranges::any_of(space.keys, [prefix](const keyspace::KeyTemplate& key) {
    return prefix.starts_with(key.literal_prefix()) || key.literal_prefix().starts_with(prefix);
  });
}

}  // namespace

Definition definition_of(const config::Config& config, std::size_t ns) {
  const config::Namespace& space = config.namespaces.at(ns);
  Definition all{
      .name = space.name,
      .canonical_keys = space.canonical_keys,
      .rows = space.source,
      .source = *std::ranges::find(config.sources, space.source.from, &config::Source::name),
      .fresh_ids = space.fresh_ids,
      .filter = space.filter};
  // For how long readers wait, which no source knows of.
  all.source.strict_hold = config::Source{}.strict_hold;
  for (const keyspace::KeyTemplate& key : space.keys) {
    all.keys.push_back(key.text());
  }
  for (const config::Namespace& other : config.namespaces) {
    for (const keyspace::KeyTemplate& key : other.keys) {
      if (&other != &space && is_rival_of(space, key.literal_prefix())) {
        all.rivals.push_back((other.canonical_keys ? "canonical " : "") + key.text());
      }
    }
  }
  std::ranges::sort(all.rivals);  // the order of the file is of no matter
  return all;
}

}  // namespace cuckooguard::app
