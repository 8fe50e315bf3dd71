// cuckooguard: see README.md for what it is and src/README.md for the way through the code.

#include <csignal>
#include <exception>

#include <fmt/format.h>

#include "app/admin_server.h"
#include "app/assembly.h"
#include "app/tls_sides.h"
#include "cli/explain.h"
#include "cli/filter_file_commands.h"
#include "cli/options.h"
#include "cli/ping.h"
#include "cli/plan.h"
#include "cli/presets.h"
#include "cli/print_config.h"
#include "cli/print_triggers.h"
#include "cli/version.h"
#include "config/config_file.h"
#include "log/event_log.h"
#include "log/last_word.h"

namespace {

using namespace cuckooguard;

int report(const std::vector<config::Diagnostic>& errors) {
  for (const config::Diagnostic& diagnostic : errors) {
    fmt::print(stderr, "{}\n", diagnostic.text());
  }
  return cli::kExitConfiguration;
}

int report(const std::string& path, const std::vector<std::string>& refusals) {
  for (const std::string& refusal : refusals) {
    fmt::print(stderr, "{}: {}\n", path, refusal);
  }
  return cli::kExitConfiguration;
}

// So that nobody takes it for more than it is.
std::string not_asked(const config::Config& config) {
  std::string sources;
  for (const config::Source& source : config.sources) {
    sources += (sources.empty() ? "" : ", ") + source.name;
  }
  return sources.empty() ? "Redis was not asked"
                         : "neither Redis nor the sources (" + sources +
                               ") were asked; --plan asks the sources";
}

// What no file but those that the configuration names can tell.
int check(const config::Config& config, const std::string& path) {
  log::EventLog log(config.log);
  std::vector<std::string> refusals = app::TlsSides(log).load(config);
  if (auto words = app::refusal(config.admin)) {
    refusals.push_back(*std::move(words));
  }
  if (!refusals.empty()) {
    return report(path, refusals);
  }
  fmt::print("{}: fine; {}\n", path, not_asked(config));
  return 0;
}

int print_plan(const config::Config& config) {
  const cli::Plan plan = cli::make_plan(config);
  fmt::print("{}", cli::describe(plan));
  for (const std::string& failure : plan.failures) {
    fmt::print(stderr, "cuckooguard: {}\n", failure);
  }
  return plan.failures.empty() ? 0 : cli::kExitFailure;
}

std::expected<config::Config, std::vector<std::string>> read_again(const cli::Serve& options) {
  auto config =
      config::load_config(options.config_path, config::process_environment(), options.overrides);
  if (config) {
    return *std::move(config);
  }
  std::vector<std::string> lines;
  for (const config::Diagnostic& diagnostic : config.error()) {
    lines.push_back(diagnostic.text());
  }
  return std::unexpected(std::move(lines));
}

int run(const cli::Serve& options) {
  if (!options.plan) {
    ::signal(SIGHUP, SIG_IGN);  // a word to reload that comes before there is something to reload
  }
  const auto effective =
      config::load_effective(options.config_path, config::process_environment(), options.overrides);
  if (!effective) {
    return report(effective.error());
  }
  const config::Config* const config = &effective->config;
  if (options.check_config) {
    return check(*config, options.config_path);
  }
  if (options.print_config) {
    fmt::print("{}", cli::print_config(*effective, options.config_path));
    return 0;
  }
  if (options.plan) {
    return print_plan(*config);
  }
  ::signal(SIGPIPE, SIG_IGN);  // a peer that is gone is an error of that write
  log::prepare_last_word(config->log.format);
  log::EventLog log(config->log);
  app::Assembly assembly(
      *config,
      {.read = [&options] { return read_again(options); }, .is_strict = options.strict_start},
      log);
  if (!assembly.refusals().empty()) {
    return report(options.config_path, assembly.refusals());
  }
  assembly.run();
  return 0;
}

int print(const std::expected<std::string, std::string>& text) {
  if (!text) {
    fmt::print(stderr, "cuckooguard: {}\n", text.error());
    return cli::kExitFailure;
  }
  fmt::print("{}", *text);
  return 0;
}

int run(const cli::InspectFilter& options) {
  return print(cli::inspect_filter(options));
}

int run(const cli::QueryFilter& options) {
  return print(cli::query_filter(options));
}

int run(const cli::PrintTriggers& options) {
  const auto config = config::load_config(options.config_path);
  if (!config) {
    return report(config.error());
  }
  const auto sql = cli::print_triggers(*config, options.source);
  if (!sql) {
    fmt::print(stderr, "{}: {}\n", options.config_path, sql.error());
    return cli::kExitConfiguration;
  }
  return print(sql);
}

int run(const cli::ListPresets& /*options*/) {
  return print(cli::list_presets());
}

int run(const cli::ShowVersion& /*options*/) {
  return print(cli::version_text());
}

int run(const cli::Explain& options) {
  ::signal(SIGPIPE, SIG_IGN);
  if (options.address) {
    return print(cli::explain_key(
        cli::AskedGuard{.address = *options.address,
                        .user = options.user,
                        .password_file = options.password_file,
                        .password = config::process_environment()("REDISCLI_AUTH").value_or(""),
                        .tls = options.tls.chosen()},
        options.key));
  }
  const auto config = config::load_config(options.config_path);
  return config ? print(cli::explain_key(*config, options.key)) : report(config.error());
}

int run(const cli::Ping& options) {
  ::signal(SIGPIPE, SIG_IGN);
  return print(cli::ping(options));
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  const auto options = cli::parse_options(argc, argv, exit_code);
  if (!options) {
    return exit_code;
  }
  try {
    return std::visit([](const auto& chosen) { return run(chosen); }, *options);
  } catch (
      const std::exception& failure) {  // start-up: the port is taken, no memory, no descriptors
    fmt::print(stderr, "cuckooguard: {}\n", failure.what());
    return cli::kExitFailure;
  }
}
