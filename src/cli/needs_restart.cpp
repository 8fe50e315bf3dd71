#include "cli/needs_restart.h"

namespace cuckooguard::cli {

std::vector<std::string> keep_what_needs_a_restart(const config::Config& running,
                                                   config::Config& next) {
  std::vector<std::string> changed;
  const auto keep = [&changed](const char* name, const auto& is, auto& wanted) {
    if (is != wanted) {
      changed.emplace_back(name);
      wanted = is;
    }
  };
  keep("listen", running.listen, next.listen);
  keep("upstream.address", running.upstream.address, next.upstream.address);
  keep("upstream.mode", running.upstream.mode, next.upstream.mode);
  keep("workers", running.workers, next.workers);
  keep("admin.address", running.admin.address, next.admin.address);
  keep("storage.directory", running.storage.directory, next.storage.directory);
  keep("storage.checkpoint_every", running.storage.checkpoint_every, next.storage.checkpoint_every);
  keep("drain_timeout", running.drain_timeout, next.drain_timeout);
  return changed;
}

}  // namespace cuckooguard::cli
