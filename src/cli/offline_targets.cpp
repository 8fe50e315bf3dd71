#include "cli/offline_targets.h"

#include <cstdint>

namespace cuckooguard::cli {
OfflineTargets::OfflineTargets(const config::Config& config)
    : config_(config), keyspace_(config::keyspace_of(config)) {
  for (std::size_t ns = 0; ns < config.namespaces.size(); ++ns) {
    parts_.emplace_back(epochs_, filter::random_secret());
  }
}

std::vector<source::Target> OfflineTargets::targets(std::string_view source) {
  std::vector<source::Target> targets;
  for (std::uint32_t ns = 0; ns < config_.namespaces.size(); ++ns) {
    if (config_.namespaces[ns].source.from == source) {
      targets.push_back({keyspace_, ns, config_.namespaces[ns], parts_[ns]});
    }
  }
  return targets;
}

}  // namespace cuckooguard::cli
