#include "cli/print_config.h"

#include <fmt/format.h>

#include "keyspace/printable.h"

namespace cuckooguard::cli {

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
