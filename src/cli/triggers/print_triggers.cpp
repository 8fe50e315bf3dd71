#include "triggers/print_triggers.h"

#include <expected>
#include <variant>

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

bool follows_triggers(const config::Source& source) {
  const auto* const sqlite = std::get_if<config::SqliteSource>(&source.kind);
  return sqlite != nullptr && sqlite->follow == config::Follow::triggers;
}

std::expected<std::string, std::string> triggers_of(const config::Config& config,
                                                    const SourceFlags& from) {
  const config::Source* const source =
      TRY(from.choose(config, "of type sqlite with follow: triggers", follows_triggers));
  const std::string& path = std::get<config::SqliteSource>(source->kind).path;
  OfflineTargets all(config);
  auto sql = source::sqlite::trigger_log_sql(path, all.targets(source->name));
  if (!sql) {
    return std::unexpected(text::joined(app::Refusals(sql.error()).sentences(source->name), "\n"));
  }
  return fmt::format(
      "-- For {}. To install it, run: cuckooguard triggers … | sqlite3 {}\n"
      "{}",
      path,
      path,
      *sql);
}

}  // namespace

void add_triggers_command(Parser app, Commands& commands) {
  commands.add(app, PrintTriggers{});
}

Parser PrintTriggers::add(Parser app) {
  return from.add(
      app.add_subcommand("triggers",
                         "Print the SQL that makes a SQLite database log its changes, for sources "
                         "with `follow: triggers`; the command itself changes nothing"));
}

int PrintTriggers::run(const app::Guests& guests) const {
  const auto config =
      config::load_config(from.config_path, config::process_environment(), {}, guests.built);
  if (!config) {
    return report(config.error());
  }
  const auto sql = triggers_of(*config, from);
  return sql ? print(sql) : report(from.config_path, {sql.error()});
}

}  // namespace cuckooguard::cli
