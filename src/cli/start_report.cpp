#include "cli/start_report.h"

#include "cli/version.h"
#include "guard/mode_names.h"

namespace cuckooguard::cli {

void report_start(EventLog& log, const config::Config& config, unsigned workers) {
  log.info("starting", {{"version", CUCKOOGUARD_VERSION}, {"commit", commit()}});
  for (const config::Namespace& space : config.namespaces) {
    log.info("namespace",
             {{"namespace", space.name},
              {"mode", guard::mode_name(space.mode)},
              {"from", space.source.from}});
  }
  log.info("listening",
           {{"address", config.listen.text()},
            {"upstream", config.upstream.address.text()},
            {"workers", workers}});
}

}  // namespace cuckooguard::cli
