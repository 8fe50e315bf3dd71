#include "app/keyspace_of.h"

#include <stdexcept>
#include <utility>

namespace cuckooguard::app {

keyspace::Keyspace keyspace_of(const config::Config& config) {
  auto built = keyspace::Keyspace::build(config::namespace_templates(config));
  if (!built) {
    throw std::logic_error("a checked configuration has no ambiguous templates");
  }
  return std::move(*built);
}

}  // namespace cuckooguard::app
