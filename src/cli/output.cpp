#include "cli/output.h"

#include <fmt/format.h>

namespace cuckooguard::cli {

int print(const std::expected<std::string, std::string>& text) {
  if (!text) {
    fmt::print(stderr, "cuckooguard: {}\n", text.error());
    return kExitFailure;
  }
  fmt::print("{}", *text);
  return 0;
}

int report(const std::vector<config::Diagnostic>& errors) {
  for (const config::Diagnostic& diagnostic : errors) {
    fmt::print(stderr, "{}\n", diagnostic.text());
  }
  return kExitConfiguration;
}

int report(const std::string& path, const std::vector<std::string>& refusals) {
  for (const std::string& refusal : refusals) {
    fmt::print(stderr, "{}: {}\n", path, refusal);
  }
  return kExitConfiguration;
}

}  // namespace cuckooguard::cli
