#include <algorithm>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "app/admin_server.h"
#include "app/load_report.h"
#include "app/start_report.h"
#include "app/tls_sides.h"
#include "cli/offline_targets.h"
#include "cli/options.h"
#include "cli/output.h"
#include "config/password_file.h"
#include "log/event_log.h"
#include "text/words.h"

namespace cuckooguard::cli {
namespace {

// So that nobody takes it for more than it is.
std::string not_asked(const config::Config& config) {
  const std::string sources = text::joined(config.sources, ", ", &config::Source::name);
  return sources.empty() ? "Redis was not contacted"
                         : "neither Redis nor the sources (" + sources +
                               ") were contacted; --plan checks the sources";
}

// Files are read at every connect, so that this is no error: who reads them may be somebody else.
std::vector<std::string> missing_passwords(const config::Config& config) {
  std::vector<std::string> all;
  const auto look = [&all](const std::string& section, const std::string& file) {
    if (const std::string why = config::why_no_password(file); !why.empty()) {
      all.push_back(section + ".password_file: " + why);
    }
  };
  look("upstream.control", config.upstream.control.password_file);
  for (const config::Source& source : config.sources) {
    std::visit(
        [&](const auto& kind) {
          if constexpr (requires { kind.password_file; }) {
            look("sources." + source.name, kind.password_file);
          }
        },
        source.kind);
  }
  return all;
}

// Of sources that are judged without asking anybody, as a start judges them.
std::vector<std::string> refused(const config::Config& config, const app::Guests& guests) {
  std::vector<std::string> all;
  OfflineTargets targets(config);
  for (const config::Source& source : config.sources) {
    const source::SourceKind& kind = guests.kind_of(source);
    if (kind.checks_settings_alone) {
      std::ranges::move(app::Refusals(kind.check(source, targets.targets(source.name), {}))
                            .sentences(source.name),
                        std::back_inserter(all));
    }
  }
  return all;
}

std::string verdict(const config::Config& config, bool lacks_passwords) {
  if (app::guards_nothing(config)) {
    return "valid, but guards nothing: it defines no namespaces and no filters";
  }
  return lacks_passwords ? "valid, but a password is missing" : "valid";
}

}  // namespace

Parser Check::add(Parser app) {
  return config.add_subcommand(app,
                               "check",
                               "Check the configuration: exits with 0 if it is valid; otherwise "
                               "lists every error and exits with 78");
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
  std::ranges::move(refused(read->config, guests), std::back_inserter(refusals));
  if (!refusals.empty()) {
    return report(config.path, refusals);
  }
  (void)report(read->warnings);
  const std::vector<std::string> missing = missing_passwords(read->config);
  (void)report(config.path, missing);
  fmt::print("{}: {}; {}\n",
             config.path,
             verdict(read->config, !missing.empty()),
             not_asked(read->config));
  return 0;
}

}  // namespace cuckooguard::cli
