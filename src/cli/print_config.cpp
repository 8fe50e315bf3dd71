#include "cli/print_config.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "keyspace/printable.h"

namespace cuckooguard::cli {

CLI::App& PrintConfig::add(CLI::App& app) {
  CLI::App& command = *app.add_subcommand(
      "print-config", "Print every effective setting and its origin, without secrets");
  config.add_file(command)->required();
  config.add_overrides(command);
  return command;
}

int PrintConfig::run() const {
  const auto read = config.load();
  return read ? print(print_config(*read, config.path)) : report(read.error());
}

std::string print_config(const config::EffectiveConfig& effective, const std::string& path) {
  constexpr std::size_t kPathBytesMax = 4096;
  return fmt::format(
      "# What is in force with {}.\n"
      "# Each setting is followed by where it comes from. What stands behind a # has no value, or "
      "is a secret.\n"
      "{}",
      keyspace::printable(path, kPathBytesMax),
      config::print_settings(effective.settings));
}

}  // namespace cuckooguard::cli
