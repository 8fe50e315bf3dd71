#include "app/refusals.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cuckooguard::app {
namespace {

// As MySQL and SQLite quote it.
std::string without(std::string text, const std::string& table) {
  if (table.empty()) {
    return text;
  }
  for (const char quote : {'`', '"'}) {
    const std::string quoted = quote + table + quote;
    for (auto at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at)) {
      text.erase(at, quoted.size());
    }
  }
  return text;
}

void note(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::ranges::count(names, name) == 0) {
    names.push_back(name);
  }
}

std::string listed(std::string_view one, std::span<const std::string> names) {
  if (names.empty()) {
    return "";
  }
  const std::span<const std::string> named =
      names.first(std::min(names.size(), Refusals::kNamesMax));
  return fmt::format(
      ", {}{} {}{}",
      one,
      names.size() == 1 ? "" : "s",
      fmt::join(named, ", "),
      named.size() == names.size() ? "" : fmt::format(" and {} more", names.size() - named.size()));
}

}  // namespace

Refusals::Refusals(const std::vector<source::Refusal>& all) {
  for (const source::Refusal& refusal : all) {
    add(refusal);
  }
}

void Refusals::add(const source::Refusal& refusal) {
  std::string gist = without(refusal.what, refusal.table);
  auto cause = std::ranges::find(causes_, gist, &Cause::gist);
  if (cause == causes_.end()) {
    causes_.push_back({.gist = std::move(gist), .what = refusal.what});
    cause = causes_.end() - 1;
  }
  note(cause->namespaces, refusal.ns);
  note(cause->tables, refusal.table);
}

bool Refusals::explain(std::string_view ns) const {
  return std::ranges::any_of(causes_, [ns](const Cause& cause) {
    return cause.namespaces.empty() || std::ranges::count(cause.namespaces, ns) > 0;
  });
}

std::vector<std::string> Refusals::sentences(std::string_view source) const {
  std::vector<std::string> all;
  for (const Cause& cause : causes_) {
    const bool names_it_itself = cause.tables.size() == 1 && cause.gist != cause.what;
    all.push_back(fmt::format("source {}{}{}: {}",
                              source,
                              listed("namespace", cause.namespaces),
                              names_it_itself ? "" : listed("table", cause.tables),
                              cause.what));
  }
  return all;
}

}  // namespace cuckooguard::app
