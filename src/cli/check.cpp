#include <fmt/format.h>

#include "app/admin_server.h"
#include "app/tls_sides.h"
#include "cli/options.h"
#include "cli/output.h"
#include "log/event_log.h"
#include "text/words.h"

namespace cuckooguard::cli {
namespace {

// So that nobody takes it for more than it is.
std::string not_asked(const config::Config& config) {
  const std::string sources = text::joined(config.sources, ", ", &config::Source::name);
  return sources.empty() ? "Redis was not asked"
                         : "neither Redis nor the sources (" + sources +
                               ") were asked; --plan asks the sources";
}

}  // namespace

Parser Check::add(Parser app) {
  return config.add_subcommand(
      app, "check", "Check the configuration: 0 if it is valid, 78 with every error otherwise");
}

int Check::run(const app::Guests& guests) const {
  const auto read = config.load(guests.built);
  if (!read) {
    return report(read.error());
  }
  log::EventLog log(read->config.log);
  // What no file but those that the configuration names can tell.
  std::vector<std::string> refusals = app::TlsSides(log).load(read->config);
  if (auto words = app::refusal(read->config.admin)) {
    refusals.push_back(*std::move(words));
  }
  if (!refusals.empty()) {
    return report(config.path, refusals);
  }
  (void)report(read->warnings);
  fmt::print("{}: fine; {}\n", config.path, not_asked(read->config));
  return 0;
}

}  // namespace cuckooguard::cli
