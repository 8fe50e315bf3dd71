#include "cli/print_config.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "keyspace/printable.h"

namespace cuckooguard::cli {

CLI::App& PrintConfig::add(CLI::App& app) {
  return config.add_subcommand(
      app, "print-config", "Print every effective setting and its origin, without secrets");
}

int PrintConfig::run() const {
  const auto read = config.load();
  if (!read) {
    return report(read.error());
  }
  constexpr std::size_t kPathBytesMax = 4096;
  fmt::print(
      "# What is in force with {}.\n"
      "# Each setting is followed by where it comes from. What stands behind a # has no value, or "
      "is a secret.\n"
      "{}",
      keyspace::printable(config.path, kPathBytesMax),
      config::print_settings(read->settings));
  return 0;
}

}  // namespace cuckooguard::cli
