// The keys that a section of the configuration can have: what unknown keys are held against. They
// come from the tables of settings (section_table.h), where each key has a row.
#pragma once

#include <span>
#include <string_view>

namespace cuckooguard::config {

struct KeyList {
  std::string_view
      section;  // path in the file; `*` stands for a name the operator chooses; "" is the top
  std::span<const std::string_view> keys;
  bool may_hold_secrets = false;  // what stands here is never shown in a diagnostic
  std::string_view short_form{};  // the key that a value stands for where the section should be
};

// The key lists of all sections, from the top.
std::span<const KeyList> all_sections();

}  // namespace cuckooguard::config
