#include "config/diagnostic.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace cuckooguard::config {

std::string Diagnostic::text() const {
  if (line == 0) {
    return fmt::format("{}: {}", file, what);
  }
  return fmt::format("{}:{}:{}: {}", file, line, column, what);
}

void Report::add(Place place, std::string what) {
  found_.push_back({file_, place.line, place.column, std::move(what)});
}

std::vector<Diagnostic> Report::in_file_order() && {
  std::ranges::sort(found_, {}, [](const Diagnostic& diagnostic) {
    return std::tie(diagnostic.line, diagnostic.column, diagnostic.what);
  });
  return std::move(found_);
}

}  // namespace cuckooguard::config
