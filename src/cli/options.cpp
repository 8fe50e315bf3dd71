#include "cli/options.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "text/printable.h"

namespace cuckooguard::cli {
namespace {

// What there is without a subcommand.
struct MainFlags {
  Serve serve;
  bool check = false;
  bool print_config = false;
  bool plan = false;
  bool version = false;

  void add(Parser app) {
    app.add_flag("--version", version, "Print the versions of this build and its libraries");
    serve.config.add_file(app);
    const Option checking = app.add_flag("--check-config", check, "Same as the subcommand check");
    const Option printing =
        app.add_flag("--print-config", print_config, "Same as the subcommand print-config");
    const Option planning = app.add_flag("--plan", plan, "Same as the subcommand plan");
    app.add_flag("--strict-start",
                 serve.strict_start,
                 "Exit with 78 if a source is unreadable at startup (default: its namespaces pass "
                 "all keys, and the source is retried)");
    printing.excludes(checking);
    planning.excludes(checking).excludes(printing);
    serve.config.add_overrides(app);
  }

  bool is_enough() const { return version || !serve.config.path.empty(); }
  Command chosen() const {
    if (version) {
      return Command(ShowVersion{});
    }
    if (check) {
      return Command(Check{serve.config});
    }
    if (print_config) {
      return Command(PrintConfig{serve.config});
    }
    if (plan) {
      return Command(ShowPlan{serve.config});
    }
    return Command(serve);
  }
};

}  // namespace

Parser PrintConfig::add(Parser app) {
  return config.add_subcommand(
      app, "print-config", "Print every effective setting and its origin, without secrets");
}

int PrintConfig::run(const app::Guests& guests) const {
  const auto read = config.load(guests.built);
  if (!read) {
    return report(read.error());
  }
  constexpr std::size_t kPathBytesMax = 4096;
  fmt::print(
      "# Effective configuration of {}.\n"
      "# Each setting is followed by its origin. Commented settings have no value, or are secret.\n"
      "{}",
      text::printable(config.path, kPathBytesMax),
      config::print_settings(read->settings));
  return 0;
}

const Command* Commands::parsed() const {
  const auto found =
      std::ranges::find_if(all_, [](const auto& each) { return each.second.is_given(); });
  return found == all_.end() ? nullptr : &found->first;
}

std::optional<Command> parse_options(int argc,
                                     const char* const* argv,
                                     const Program& program,
                                     int& exit_code) {
  CommandLine line("cuckooguard",
                   "A sidecar in front of Redis that answers reads of keys which cannot exist, so "
                   "that they reach neither Redis nor the database.");
  const Parser app = line.parser();
  MainFlags flags;
  flags.add(app);
  Commands commands;
  commands.add(app, Init{});
  commands.add(app, Check{});
  commands.add(app, PrintConfig{});
  commands.add(app, ShowPlan{});
  for (const auto add : program.commands) {
    add(app, commands);
  }
  commands.add(app, ListPresets{});
  commands.add(app, Explain{});
  commands.add(app, Ping{});
  app.require("--config", [&] { return commands.parsed() != nullptr || flags.is_enough(); });
  if (const auto code = line.read(argc, argv)) {
    exit_code = *code;
    return std::nullopt;
  }
  const Command* const parsed = commands.parsed();
  return parsed != nullptr ? *parsed : flags.chosen();
}

}  // namespace cuckooguard::cli
