#include "traffic/pattern.h"

#include <algorithm>
#include <vector>

namespace cuckooguard::traffic {
namespace {

constexpr double kHalf = 0.5;
constexpr double kMost = 0.75;
constexpr double kNearlyAll = 0.9;

bool is_share(std::size_t part, std::size_t all, double share) {
  return static_cast<double>(part) >= share * static_cast<double>(all);
}

bool are_ascending(std::span<const AbsentRead> reads) {
  std::size_t steps = 0;
  std::size_t up = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto next = std::ranges::find(reads.subspan(i + 1), reads[i].from, &AbsentRead::from);
    const auto before = reads[i].number;
    const auto after = next != reads.end() ? next->number : std::nullopt;
    if (before && after) {
      ++steps;
      up += *after > *before ? 1 : 0;
    }
  }
  return steps >= kLeast / 2 && is_share(up, steps, kMost);
}

// What most of them begin with, the one in their middle does.
bool have_one_prefix(std::span<const std::string_view> sorted, std::size_t size) {
  const std::string_view prefix = sorted[sorted.size() / 2].substr(0, size);
  return prefix.size() == size &&
         is_share(static_cast<std::size_t>(std::ranges::count_if(
                      sorted, [&](std::string_view key) { return key.starts_with(prefix); })),
                  sorted.size(),
                  kMost);
}

}  // namespace

Pattern pattern_of(std::span<const AbsentRead> reads, double few, std::size_t prefix) {
  if (reads.size() < kLeast) {
    return Pattern::few_reads;
  }
  if (few >= kHalf) {
    return Pattern::few_keys;
  }
  if (are_ascending(reads)) {
    return Pattern::ascending;
  }
  std::vector<std::string_view> keys;
  for (const AbsentRead& read : reads) {
    keys.push_back(read.key.view());
  }
  std::ranges::sort(keys);
  if (have_one_prefix(keys, prefix + kPrefixBytes)) {
    return Pattern::one_prefix;
  }
  const std::size_t all = keys.size();
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return is_share(keys.size(), all, kNearlyAll) ? Pattern::random : Pattern::mixed;
}

}  // namespace cuckooguard::traffic
