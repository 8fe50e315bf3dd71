#include "cli/options.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "config/nearest.h"
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

  void add(CLI::App& app) {
    app.add_flag("--version", version, "Print the versions of this build and its libraries");
    serve.config.add_file(app);
    auto* const checking = app.add_flag("--check-config", check, "As the subcommand check");
    auto* const printing =
        app.add_flag("--print-config", print_config, "As the subcommand print-config");
    auto* const planning = app.add_flag("--plan", plan, "As the subcommand plan");
    app.add_flag("--strict-start",
                 serve.strict_start,
                 "End with 78 if a source cannot be read as it is; else its namespaces pass, and "
                 "it is tried again");
    printing->excludes(checking);
    planning->excludes(checking)->excludes(printing);
    serve.config.add_overrides(app);
  }

  Command chosen() const {
    if (version) {
      return Command(ShowVersion{});
    }
    if (serve.config.path.empty()) {
      throw CLI::RequiredError("--config");
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

// For what was not expected where it stands: the flags that there are.
std::string suggestions(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  std::vector<std::string> flags;
  for (const CLI::Option* const option : command->get_options()) {
    if (!option->get_positional()) {
      flags.push_back(option->get_name());
    }
  }
  const std::vector<std::string_view> names(flags.begin(), flags.end());
  std::string text;
  for (const std::string& word : app.remaining(true)) {
    const std::string_view flag = std::string_view(word).substr(0, word.find('='));
    if (const auto meant = config::nearest(flag, names)) {
      text += fmt::format("{}: did you mean \"{}\"?\n", flag, *meant);
    }
  }
  return text;
}

}  // namespace

CLI::App& PrintConfig::add(CLI::App& app) {
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
      "# What is in force with {}.\n"
      "# Each setting is followed by where it comes from. What stands behind a # has no value, or "
      "is a secret.\n"
      "{}",
      text::printable(config.path, kPathBytesMax),
      config::print_settings(read->settings));
  return 0;
}

const Command* Commands::parsed() const {
  const auto found =
      std::ranges::find_if(all_, [](const auto& each) { return each.second->parsed(); });
  return found == all_.end() ? nullptr : &found->first;
}

std::optional<Command> parse_options(int argc,
                                     const char* const* argv,
                                     const Program& program,
                                     int& exit_code) {
  CLI::App app{
      "A sidecar in front of Redis that answers reads of keys which exist nowhere, so that they "
      "reach neither Redis nor the database.",
      "cuckooguard"};
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
  try {
    app.parse(argc, argv);
    const Command* const parsed = commands.parsed();
    return parsed != nullptr ? *parsed : flags.chosen();
  } catch (const CLI::ParseError& outcome) {  // how CLI11 also says that it has printed help
    exit_code = app.exit(outcome) == 0 ? 0 : kExitUsage;
    if (exit_code != 0) {
      fmt::print(stderr, "{}", suggestions(app));
    }
    return std::nullopt;
  }
}

}  // namespace cuckooguard::cli
