#include "harness/same_bytes.h"

#include <algorithm>

#include "harness/redis_command.h"

namespace cuckooguard::harness {

testing::AssertionResult same_bytes(std::string_view actual, std::string_view expected) {
  if (actual == expected) {
    return testing::AssertionSuccess();
  }
  constexpr std::size_t kShownBefore = 60;
  constexpr std::size_t kShown = 200;
  const auto differ = std::ranges::mismatch(actual, expected).in1 - actual.begin();
  const auto at = static_cast<std::size_t>(differ);
  const std::size_t from = at - std::min(at, kShownBefore);
  return testing::AssertionFailure()
         << actual.size() << " bytes instead of " << expected.size() << ", different at byte " << at
         << "\n  is        " << shown(actual.substr(from, kShown)) << "\n  should be "
         << shown(expected.substr(from, kShown));
}

}  // namespace cuckooguard::harness
