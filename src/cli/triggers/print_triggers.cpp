#include "triggers/print_triggers.h"

#include <expected>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "app/load_report.h"
#include "cli/offline_targets.h"
#include "cli/output.h"
#include "config/config_file.h"
#include "sqlite/trigger_log.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::cli {
namespace {

struct Chosen {
  const config::Source* source = nullptr;
  const config::SqliteSource* sqlite = nullptr;
};

std::expected<Chosen, std::string> choose(const config::Config& config, const std::string& name) {
  std::vector<Chosen> candidates;
  for (const config::Source& source : config.sources) {
    const auto* sqlite = std::get_if<config::SqliteSource>(&source.kind);
    if (sqlite != nullptr && sqlite->follow == config::Follow::triggers &&
        (name.empty() || source.name == name)) {
      candidates.push_back({.source = &source, .sqlite = sqlite});
    }
  }
  if (candidates.empty()) {
    return std::unexpected(
        name.empty() ? "no source is of type sqlite with follow: triggers"
                     : fmt::format("{} is no source of type sqlite with follow: triggers", name));
  }
  if (candidates.size() > 1) {
    return std::unexpected("several sources follow triggers; name one by --source");
  }
  return candidates.front();
}

std::expected<std::string, std::string> triggers_of(const config::Config& config,
                                                    const std::string& source) {
  const auto chosen = TRY(choose(config, source));
  OfflineTargets all(config);
  const std::vector<source::Target> targets = all.targets(chosen.source->name);
  auto sql = source::sqlite::trigger_log_sql(chosen.sqlite->path, targets);
  if (!sql) {
    return std::unexpected(
        text::joined(app::Refusals(sql.error()).sentences(chosen.source->name), "\n"));
  }
  return fmt::format("-- For {}. Run it there: cuckooguard triggers … | sqlite3 {}\n{}",
                     chosen.sqlite->path,
                     chosen.sqlite->path,
                     *sql);
}

}  // namespace

void add_triggers_command(Parser app, Commands& commands) {
  commands.add(app, PrintTriggers{});
}

Parser PrintTriggers::add(Parser app) {
  Parser command = app.add_subcommand(
      "triggers",
      "Print the SQL that makes a SQLite database log its changes, for sources with `follow: "
      "triggers`; it changes nothing itself");
  command.add_option("--config", config_path, "FILE", "The configuration").required();
  command.add_option("--source", source, "NAME", "The source, if there are several");
  return command;
}

int PrintTriggers::run(const app::Guests& guests) const {
  const auto config =
      config::load_config(config_path, config::process_environment(), {}, guests.built);
  if (!config) {
    return report(config.error());
  }
  const auto sql = triggers_of(*config, source);
  return sql ? print(sql) : report(config_path, {sql.error()});
}

}  // namespace cuckooguard::cli
