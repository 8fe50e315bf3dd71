#include "cli/options.h"

#include <CLI/CLI.hpp>

namespace cuckooguard::cli {

std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code) {
  CLI::App app{
      "A sidecar in front of Redis that answers reads of keys which exist nowhere, so that they "
      "reach neither Redis "
      "nor the database.",
      "cuckooguard"};
  Options options;
  app.add_option(
         "--config", options.config_path, "The configuration, YAML; see config/minimal.yaml")
      ->required()
      ->type_name("FILE");
  app.add_flag("--check-config",
               options.check_config,
               "Report every error of the configuration and end: 0 if there is none, else 78");
  app.set_version_flag("--version", "cuckooguard " CUCKOOGUARD_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& outcome) {  // how CLI11 also says that it has printed help
    exit_code = app.exit(outcome) == 0 ? 0 : kExitUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace cuckooguard::cli
