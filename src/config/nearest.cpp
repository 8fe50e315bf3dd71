#include "config/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cuckooguard::config {
namespace {

constexpr std::size_t kWordBytesMax =
    64;  // longer words resemble nothing, and the table below stays small
constexpr std::size_t kNamesShown = 12;

// Optimal string alignment distance.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> best(from.size() + 1,
                                             std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        best[i][j] = i + j;
        continue;
      }
      const std::size_t change = from[i - 1] == to[j - 1] ? 0 : 1;
      best[i][j] = std::min({best[i - 1][j] + 1, best[i][j - 1] + 1, best[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) {
        best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
      }
    }
  }
  return best[from.size()][to.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> names) {
  if (word.size() > kWordBytesMax) {
    return std::nullopt;
  }
  std::optional<std::string_view> found;
  std::size_t fewest = 0;
  for (const std::string_view name : names) {
    const std::size_t count = edits(word, name.substr(0, kWordBytesMax));
    const std::size_t allowed = std::max<std::size_t>(1, name.size() / 3);
    if (count <= allowed && (!found || count < fewest)) {
      found = name;
      fewest = count;
    }
  }
  return found;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> names) {
  if (const auto name = nearest(word, names)) {
    return fmt::format(", did you mean \"{}\"?", *name);
  }
  if (names.empty()) {
    return "";
  }
  const auto shown = names.first(std::min(names.size(), kNamesShown));
  return fmt::format(
      "; valid: {}{}", fmt::join(shown, ", "), shown.size() < names.size() ? ", ..." : "");
}

}  // namespace cuckooguard::config
