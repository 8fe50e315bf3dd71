#include "config/diagnostic.h"

#include <algorithm>
#include <tuple>

namespace cuckooguard::config {
namespace {

std::vector<Diagnostic> sorted(std::vector<Diagnostic> all) {
  std::ranges::sort(all, {}, [](const Diagnostic& diagnostic) {
    return std::tie(diagnostic.line, diagnostic.column, diagnostic.what);
  });
  return all;
}

}  // namespace

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

Diagnostic Report::at(Place place, std::string what) const {
  if (place.flag > 0) {
    return {flags_.at(static_cast<std::size_t>(place.flag) - 1), 0, 0, std::move(what)};
  }
  return {file_, place.line, place.column, std::move(what)};
}

void Report::add(Place place, std::string what) {
  found_.push_back(at(place, std::move(what)));
}

void Report::warn(Place place, std::string what) {
  warnings_.push_back(at(place, std::move(what)));
}

std::vector<Diagnostic> Report::in_file_order() && {
  return sorted(std::move(found_));
}

std::vector<Diagnostic> Report::warnings() && {
  return sorted(std::move(warnings_));
}

}  // namespace cuckooguard::config
