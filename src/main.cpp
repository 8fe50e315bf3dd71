// cuckooguard: see README.md for what it is and src/README.md for the way through the code.

#include <csignal>
#include <exception>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/assembly.h"
#include "cli/filter_file_commands.h"
#include "cli/log_level.h"
#include "cli/options.h"
#include "cli/ping.h"
#include "cli/presets.h"
#include "cli/print_triggers.h"
#include "config/config_file.h"

namespace {

using namespace cuckooguard;

void set_up_log(const config::Log& log) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("cuckooguard"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  cli::set_log_level(log.level);
}

int report(const std::vector<config::Diagnostic>& errors) {
  for (const config::Diagnostic& diagnostic : errors) {
    fmt::print(stderr, "{}\n", diagnostic.text());
  }
  return cli::kExitConfiguration;
}

std::expected<config::Config, std::vector<std::string>> read_again(const std::string& path) {
  auto config = config::load_config(path);
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
  const auto config = config::load_config(options.config_path);
  if (!config) {
    return report(config.error());
  }
  if (options.check_config) {
    fmt::print("{}: fine\n", options.config_path);
    return 0;
  }
  set_up_log(config->log);
  ::signal(SIGPIPE, SIG_IGN);  // a peer that is gone is an error of that write
  cli::Assembly assembly(*config, [&options] { return read_again(options.config_path); });
  for (const std::string& refusal : assembly.refusals()) {
    fmt::print(stderr, "{}: {}\n", options.config_path, refusal);
  }
  if (!assembly.refusals().empty()) {
    return cli::kExitConfiguration;
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
