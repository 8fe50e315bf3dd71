#include "config/config_file.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "config/read_config.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {
namespace {

std::vector<Diagnostic> cannot_read(const std::string& path, int error_number) {
  return {
      {.file = path,
       .what = fmt::format("cannot be read: {}", std::generic_category().message(error_number))}};
}

}  // namespace

EnvironmentLookup process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    // Read at start-up and on reload, by main's thread; nobody calls setenv.
    const char* const value =
        std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::expected<EffectiveConfig, std::vector<Diagnostic>> parse_effective(
    std::string_view yaml,
    std::string file_name,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides) {
  Report report(std::move(file_name));
  EffectiveConfig effective;
  if (std::optional<TreeNode> root = parse_tree(yaml, report)) {
    apply(overrides, *root, report);
    effective.config = read_config(*root, environment, effective.settings, report);
  }
  if (!report.empty()) {
    return std::unexpected(std::move(report).in_file_order());
  }
  effective.warnings = std::move(report).warnings();
  return effective;
}

std::expected<EffectiveConfig, std::vector<Diagnostic>> load_effective(
    const std::string& path,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::unexpected(cannot_read(path, errno));
  }
  std::string text(kFileBytesMax + 1,
                   '\0');  // one more than is allowed, so that parse_config sees it
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return std::unexpected(cannot_read(path, errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_effective(text, path, environment, overrides);
}

std::expected<Config, std::vector<Diagnostic>> parse_config(std::string_view yaml,
                                                            std::string file_name,
                                                            const EnvironmentLookup& environment) {
  auto effective = parse_effective(yaml, std::move(file_name), environment);
  if (!effective) {
    return std::unexpected(std::move(effective.error()));
  }
  return std::move(effective->config);
}

std::expected<Config, std::vector<Diagnostic>> load_config(const std::string& path,
                                                           const EnvironmentLookup& environment,
                                                           std::span<const Override> overrides) {
  auto effective = load_effective(path, environment, overrides);
  if (!effective) {
    return std::unexpected(std::move(effective.error()));
  }
  return std::move(effective->config);
}

}  // namespace cuckooguard::config
