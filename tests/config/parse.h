// Parsing a configuration in a test: its errors as lines, its environment as a map.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config_file.h"
#if __has_include("formats/formats.h")
#include "formats/formats.h"
#endif

namespace cuckooguard::config::testing {

using Environment = std::map<std::string, std::string, std::less<>>;

inline EnvironmentLookup lookup_in(Environment environment) {
  return
      [environment = std::move(environment)](std::string_view name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
      };
}

// With the formats of other libraries, if the test program has them.
inline Built built() {
#if __has_include("formats/formats.h")
  return {.formats = foreign::all_formats()};
#else
  return {};
#endif
}

// Each as `line:column: what`.
inline std::vector<std::string> errors_of(std::string_view yaml,
                                          const Environment& environment = {},
                                          const Built& built = testing::built()) {
  std::vector<std::string> lines;
  const auto config = parse_config(yaml, "f", lookup_in(environment), built);
  if (!config) {
    for (const Diagnostic& diagnostic : config.error()) {
      lines.push_back(diagnostic.text().substr(2));
    }
  }
  return lines;
}

inline Config config_of(std::string_view yaml, const Environment& environment = {}) {
  auto config = parse_config(yaml, "f", lookup_in(environment), built());
  if (!config) {
    throw std::invalid_argument(config.error()[0].text() + "\n" + std::string(yaml));
  }
  return std::move(*config);
}

// A namespace `users` with these settings added to those that it needs, and its source.
inline std::string with_namespace(std::string_view settings) {
  std::string yaml =
      "sources:\n"
      "  shop: { type: sqlite, path: /shop.db }\n"
      "namespaces:\n"
      "  users:\n"
      "    keys: \"user:{id:uint64}\"\n"
      "    source: { from: shop, table: user }\n";
  return yaml.append(settings);
}

}  // namespace cuckooguard::config::testing
