// `namespaces.NAME` -> Namespace, as far as it can be judged without the rest of the file.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "config/places.h"
#include "config/section.h"

namespace cuckooguard::config {

Namespace read_namespace(const Reading& reading, const Entry& entry, NamespacePlaces& places);
std::span<const KeyList> namespace_sections();

// The places of those that are one; the others are reported.
std::vector<Place> read_key_templates(const Section& section,
                                      std::string_view key,
                                      Section::EmptyList empty,
                                      std::vector<keyspace::KeyTemplate>& out);

}  // namespace cuckooguard::config
