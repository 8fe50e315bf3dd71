// YAML -> Config, strictly: an unknown or duplicate key, a wrong type, a value without its unit, a
// missing or contradictory setting is a Diagnostic with line and column. All of them are reported
// at once, in the file's order. Secrets and values taken from the environment are never part of a
// diagnostic.
//
// YAML's anchors, aliases and tags are refused: a configuration needs none, and an alias can grow
// without bound.
//
// Threads: free functions without state. Errors: values; exceptions of yaml-cpp end here. Limits:
// kFileBytesMax, kNestingMax.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/diagnostic.h"
#include "config/effective.h"
#include "config/yaml_tree.h"
#include "foreign/format.h"

namespace cuckooguard::config {

// Settings from the command line. They are put over the file before it is read, so that they are
// read and judged by the same rules; what is wrong with one is reported under its flag.
//
// Threads: free function. Errors: in the Report.
struct Override {
  std::string flag;   // for messages: --listen
  std::string path;   // of the key: limits.max_clients
  std::string value;  // as in the file; in brackets, braces or quotes it is taken as YAML
};

// Later ones win.
void apply(std::span<const Override> overrides, TreeNode& root, Report& report);

// What the program that reads was built with (src/guests/guests.cmake): settings that need
// something else are refused.
struct Built {
  std::vector<std::string_view> without{};  // guests, by name: "mysql"
  foreign::Formats formats{};               // that a source of type bloom may have

  // Why a setting that needs this guest is refused; nullopt: it is not.
  std::optional<std::string> refusal(std::string_view guest) const;
};

// The value of an environment variable, or nullopt if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view name)>;

EnvironmentLookup process_environment();

std::expected<Config, std::vector<Diagnostic>> parse_config(std::string_view yaml,
                                                            std::string file_name,
                                                            const EnvironmentLookup& environment,
                                                            const Built& built = {});

// The one function of this room that reads a file.
std::expected<Config, std::vector<Diagnostic>> load_config(
    const std::string& path,
    const EnvironmentLookup& environment = process_environment(),
    std::span<const Override> overrides = {},
    const Built& built = {});

// The same with every setting and its origin. What comes from the environment is named there: a
// variable counts only where the file says `${NAME}`, since one with a guessable name may be
// somebody else's (Kubernetes makes CUCKOOGUARD_PORT for a service).
struct EffectiveConfig {
  Config config;
  Setting settings;
  std::vector<Diagnostic> warnings;  // what should be changed, but does no harm yet
};

std::expected<EffectiveConfig, std::vector<Diagnostic>> parse_effective(
    std::string_view yaml,
    std::string file_name,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides = {},
    const Built& built = {});

std::expected<EffectiveConfig, std::vector<Diagnostic>> load_effective(
    const std::string& path,
    const EnvironmentLookup& environment = process_environment(),
    std::span<const Override> overrides = {},
    const Built& built = {});

}  // namespace cuckooguard::config
