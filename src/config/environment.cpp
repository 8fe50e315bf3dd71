#include "config/environment.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "config/yaml_tree.h"

namespace cuckooguard::config {
namespace {

// What stands between `${` and `}`.
Parsed<std::string> value_of(std::string_view inside, const EnvironmentLookup& environment) {
  const std::size_t name_end = std::min(inside.find(":-"), inside.size());
  const std::string_view name = inside.substr(0, name_end);
  if (!looks_like_a_name(name)) {
    return std::unexpected(
        "has a ${...} that does not name a variable; a literal ${ is written $${");
  }
  const std::optional<std::string> value = environment(name);
  if (value && !value->empty()) {
    return *value;
  }
  if (name_end < inside.size()) {
    return std::string(inside.substr(name_end + 2));
  }
  if (!value) {
    return std::unexpected(fmt::format(
        "needs the environment variable {0}, which is not set; ${{{0}:-text}} gives a default",
        name));
  }
  return std::string();
}

}  // namespace

Parsed<std::string> expand(std::string_view text, const EnvironmentLookup& environment) {
  std::string result;
  while (true) {
    const std::size_t at = text.find("${");
    if (at == std::string_view::npos) {
      result += text;
      return result;
    }
    if (at > 0 && text[at - 1] == '$') {
      result += text.substr(0, at - 1);
      result += "${";
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) {
      return std::unexpected("has a ${ without its }; a literal ${ is written $${");
    }
    const Parsed<std::string> value = value_of(text.substr(at + 2, end - at - 2), environment);
    if (!value) {
      return value;
    }
    result += text.substr(0, at);
    result += *value;
    text.remove_prefix(end + 1);
  }
}

EnvironmentLookup process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    // Read at start-up and on reload, by main's thread; nobody calls setenv.
    const char* const value =
        std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

}  // namespace cuckooguard::config
