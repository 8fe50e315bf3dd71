#include "guard/process.h"

#include <algorithm>
#include <charconv>

namespace cuckooguard::guard {

std::string Process::key_hash(std::string_view key) const {
  constexpr std::size_t kDigits = 16;
  std::array<char, kDigits> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + kDigits, shown_hash(key), 16);
  const std::string text(digits.data(), end);
  return std::string(kDigits - text.size(), '0') + text;
}

redis::ControlReport::State NodesStatus::control() const {
  auto worst = redis::ControlReport::State::unknown;
  for (const NodeStatus& node : shown) {
    worst = std::max(worst, node.control.state);
  }
  return worst;
}

}  // namespace cuckooguard::guard
