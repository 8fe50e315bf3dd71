// What the filter of a namespace is made of. As long as this is the same, the filter that is there
// is right, and a reload of the configuration keeps it. Everything else that can be set for a
// namespace is policy: mode, order, absent_reply, verify_sample, db, consistency, tolerate,
// overlay; and so is its source's strict_hold.
//
// Must: two namespaces with equal definitions have the same rows in their filters, under the same
// identities.
// Compared whole instead of by a hash: it is some hundred bytes, and no two can be mistaken for
// each other.
//
// Threads: values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/config.h"

namespace cuckooguard::app {

struct Definition {
  std::string name;               // progress and checkpoints go by it
  std::vector<std::string> keys;  // templates
  bool canonical_keys = false;
  // Templates of other namespaces that may win keys over its own, or claim keys of its rows: one
  // prefix goes on from the other.
  std::vector<std::string> rivals;
  config::SourceTable rows;
  config::Source source;  // its credentials, too: a running source does not hear of new ones
  config::FreshIds fresh_ids;
  config::Filter filter;

  bool operator==(const Definition&) const = default;
  // Each key is this namespace's, with the same identity, in both or in none.
  bool has_the_keys_of(const Definition& other) const {
    return keys == other.keys && canonical_keys == other.canonical_keys && rivals == other.rivals;
  }
};

Definition definition_of(const config::Config& config, std::size_t ns);

}  // namespace cuckooguard::app
