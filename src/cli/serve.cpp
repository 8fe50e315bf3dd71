#include <csignal>

#include "app/assembly.h"
#include "cli/options.h"
#include "cli/output.h"
#include "log/event_log.h"
#include "log/last_word.h"

namespace cuckooguard::cli {
namespace {

void warn(const config::EffectiveConfig& read, log::EventLog& log) {
  for (const config::Diagnostic& warning : read.warnings) {
    log.warning("renamed_setting", {{"what", warning.text()}});
  }
}

std::expected<config::Config, std::vector<std::string>> read_again(const ConfigFlags& flags,
                                                                   const config::Built& built,
                                                                   log::EventLog& log) {
  auto read = flags.load(built);
  if (read) {
    warn(*read, log);
    return std::move(read->config);
  }
  std::vector<std::string> lines;
  for (const config::Diagnostic& diagnostic : read.error()) {
    lines.push_back(diagnostic.text());
  }
  return std::unexpected(std::move(lines));
}

}  // namespace

int Serve::run(const app::Guests& guests) const {
  ::signal(SIGHUP, SIG_IGN);  // a word to reload that comes before there is something to reload
  const auto read = config.load(guests.built);
  if (!read) {
    return report(read.error());
  }
  ::signal(SIGPIPE, SIG_IGN);  // a peer that is gone is an error of that write
  log::prepare_last_word(read->config.log.format);
  log::EventLog log(read->config.log);
  warn(*read, log);
  app::Assembly assembly(read->config,
                         {.read = [&] { return read_again(config, guests.built, log); },
                          .guests = guests,
                          .is_strict = strict_start},
                         log);
  if (!assembly.refusals().empty()) {
    return report(config.path, assembly.refusals());
  }
  assembly.run();
  return 0;
}

}  // namespace cuckooguard::cli
