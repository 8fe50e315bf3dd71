#include "app/guests.h"

#include <algorithm>
#include <stdexcept>

namespace cuckooguard::app {

const source::SourceKind& Guests::kind_of(const config::Source& settings) const {
  const auto found = std::ranges::find_if(
      kinds, [&settings](const source::SourceKind* kind) { return kind->is(settings); });
  if (found == kinds.end()) {
    throw std::logic_error("a source of no kind");
  }
  return **found;
}

}  // namespace cuckooguard::app
