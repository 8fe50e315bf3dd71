// `sources.NAME` -> Source.
#pragma once

#include <optional>
#include <span>

#include "config/section.h"

namespace cuckooguard::config {

// nullopt: not even its type is known (reported).
std::optional<Source> read_source(const Reading& reading, const Entry& entry);
std::span<const KeyList> source_sections();

}  // namespace cuckooguard::config
