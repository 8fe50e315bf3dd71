#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace cuckooguard::bench {

double percentile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) {
    return 0;
  }
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(part * last))];
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return percentile(values, 0.5);
}

}  // namespace cuckooguard::bench
