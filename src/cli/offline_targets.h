// The namespaces of one source as sources take them, for commands that look at a database without a
// guard: their filters are empty, and nobody asks them.
//
// Threads: one. Lifetimes: views the configuration; what targets() gives views this.
// Errors: std::logic_error for a configuration that was not checked.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "keyspace/keyspace.h"
#include "source/source.h"

namespace cuckooguard::cli {

class OfflineTargets {
 public:
  explicit OfflineTargets(const config::Config& config);

  std::vector<source::Target> targets(std::string_view source);

 private:
  const config::Config& config_;
  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_{1};
  std::deque<filter::LiveParts> parts_;  // of each namespace
};

}  // namespace cuckooguard::cli
