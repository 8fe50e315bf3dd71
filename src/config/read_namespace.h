// `namespaces.NAME` -> Namespace, as far as it can be judged without the rest of the file.
#pragma once

#include <span>

#include "config/places.h"
#include "config/section.h"

namespace cuckooguard::config {

Namespace read_namespace(const Reading& reading, const Entry& entry, NamespacePlaces& places);
std::span<const KeyList> namespace_sections();

}  // namespace cuckooguard::config
