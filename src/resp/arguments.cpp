#include "resp/arguments.h"

#include <algorithm>

namespace cuckooguard::resp {

namespace {
constexpr std::size_t kFirstRoom = 64;
}  // namespace

// Out of line, so that add() stays small where it is inlined.
void Arguments::grow() {
  views_.resize(std::max(kFirstRoom, views_.size() * 2));
}

}  // namespace cuckooguard::resp
