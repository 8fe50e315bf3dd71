#include "app/start_report.h"

#include "app/commit.h"

namespace cuckooguard::app {

void report_namespaces(log::EventLog& log, const Generation& generation) {
  for (const config::Namespace& space : generation.config().namespaces) {
    log.info("namespace",
             {{"namespace", space.name},
              {"mode", config::name_of(space.mode)},
              {"from", space.source.from},
              {"filter", generation.has_kept_filter_of(space.name) ? "kept" : "none_yet"}});
  }
}

void report_start(log::EventLog& log, const Generation& generation, unsigned workers) {
  const config::Config& config = generation.config();
  log.info("starting", {{"version", CUCKOOGUARD_VERSION}, {"commit", commit()}});
  report_namespaces(log, generation);
  for (const config::Listen& listen : config.listen) {
    log.info("listening",
             {{"address", listen.address.text()},
              {"upstream", config.upstream.address.text()},
              {"workers", workers}});
  }
}

}  // namespace cuckooguard::app
