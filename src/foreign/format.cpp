#include "foreign/format.h"

#include <algorithm>

namespace cuckooguard::foreign {

const Format* find_format(Formats formats, std::string_view name) {
  const auto found = std::ranges::find(formats, name, &Format::name);
  return found == formats.end() ? nullptr : *found;
}

}  // namespace cuckooguard::foreign
