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

int Report::add_flag(std::string name) {
  flags_.push_back(std::move(name));
  return static_cast<int>(flags_.size());
}

std::string Report::origin(Place place) const {
  if (place.flag > 0) {
    return "flag " + flags_.at(static_cast<std::size_t>(place.flag) - 1);
  }
  const std::string_view name = std::string_view(file_).substr(file_.rfind('/') + 1);
  return fmt::format("{}:{}", name, place.line);
}

void Report::add(Place place, std::string what) {
  if (place.flag > 0) {
    found_.push_back({flags_.at(static_cast<std::size_t>(place.flag) - 1), 0, 0, std::move(what)});
    return;
  }
  found_.push_back({file_, place.line, place.column, std::move(what)});
}

std::vector<Diagnostic> Report::in_file_order() && {
  std::ranges::sort(found_, {}, [](const Diagnostic& diagnostic) {
    return std::tie(diagnostic.line, diagnostic.column, diagnostic.what);
  });
  return std::move(found_);
}

}  // namespace cuckooguard::config
