#include "guard/nodes.h"

#include <algorithm>

namespace cuckooguard::guard {

redis::ControlReport::State NodesStatus::control() const {
  auto worst = redis::ControlReport::State::unknown;
  for (const NodeStatus& node : shown) {
    worst = std::max(worst, node.control.state);
  }
  return worst;
}

}  // namespace cuckooguard::guard
