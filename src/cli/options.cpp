#include "cli/options.h"

#include <CLI/CLI.hpp>

namespace cuckooguard::cli {
namespace {

void add_serve(CLI::App& app, Serve& serve) {
  app.add_option("--config", serve.config_path, "The configuration, YAML; see config/minimal.yaml")
      ->type_name("FILE");
  app.add_flag("--check-config",
               serve.check_config,
               "Report every error of the configuration and end: 0 if there is none, else 78");
}

CLI::App& add_inspect(CLI::App& filter, InspectFilter& inspect) {
  CLI::App& command =
      *filter.add_subcommand("inspect", "Verify a filter file and print what it says of itself");
  command.add_option("file", inspect.path, "The filter file")->required();
  return command;
}

CLI::App& add_query(CLI::App& filter, QueryFilter& query) {
  CLI::App& command = *filter.add_subcommand(
      "query", "What a filter file says of Redis keys: one line each, `absent` or `may exist`");
  command.add_option("file", query.path, "The filter file")->required();
  command.add_option("--secret", query.secret_path, "The secret that the file was hashed with")
      ->required()
      ->type_name("FILE");
  command.add_option("--template", query.key_template, "The namespace's, such as user:{id:uint64}")
      ->required()
      ->type_name("TEMPLATE");
  command.add_option("keys", query.keys, "Redis keys")->required();
  return command;
}

CLI::App& add_triggers(CLI::App& app, PrintTriggers& triggers) {
  CLI::App& command = *app.add_subcommand(
      "triggers",
      "Print the SQL that makes a SQLite database log its changes, for sources with `follow: "
      "triggers`; it changes nothing itself");
  command.add_option("--config", triggers.config_path, "The configuration")
      ->required()
      ->type_name("FILE");
  command.add_option("--source", triggers.source, "Of which source, if there are several")
      ->type_name("NAME");
  return command;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code) {
  CLI::App app{
      "A sidecar in front of Redis that answers reads of keys which exist nowhere, so that they "
      "reach neither Redis nor the database.",
      "cuckooguard"};
  app.set_version_flag("--version", "cuckooguard " CUCKOOGUARD_VERSION);
  Serve serve;
  InspectFilter inspect;
  QueryFilter query;
  PrintTriggers triggers;
  add_serve(app, serve);
  CLI::App& filter = *app.add_subcommand("filter", "Look into a filter file");
  filter.require_subcommand(1);
  const CLI::App& inspecting = add_inspect(filter, inspect);
  const CLI::App& querying = add_query(filter, query);
  const CLI::App& printing = add_triggers(app, triggers);
  try {
    app.parse(argc, argv);
    if (inspecting.parsed()) {
      return inspect;
    }
    if (querying.parsed()) {
      return query;
    }
    if (printing.parsed()) {
      return triggers;
    }
    if (serve.config_path.empty()) {
      throw CLI::RequiredError("--config");
    }
  } catch (const CLI::ParseError& outcome) {  // how CLI11 also says that it has printed help
    exit_code = app.exit(outcome) == 0 ? 0 : kExitUsage;
    return std::nullopt;
  }
  return serve;
}

}  // namespace cuckooguard::cli
