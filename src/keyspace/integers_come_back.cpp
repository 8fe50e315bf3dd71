#include "keyspace/integers_come_back.h"

#include <algorithm>
#include <string_view>

namespace cuckooguard::keyspace {
namespace {

bool is_one_integer(const KeyTemplate& key_template) {
  const std::span<const Placeholder> placeholders = key_template.placeholders();
  return placeholders.size() == 1 && placeholders[0].is_integer();
}

// Whether `longer` is `prefix` and the first byte of an integer, or more.
bool goes_on_with_integer(std::string_view longer, std::string_view prefix) {
  if (longer.size() <= prefix.size() || !longer.starts_with(prefix)) {
    return false;
  }
  const char next = longer[prefix.size()];
  return (next >= '0' && next <= '9') || next == '-';
}

}  // namespace

bool integers_come_back(std::span<const KeyTemplate> own, std::span<const KeyTemplate> all) {
  return std::ranges::all_of(own, [all](const KeyTemplate& key_template) {
    const auto takes_keys_away = [&key_template](const KeyTemplate& other) {
      return goes_on_with_integer(other.literal_prefix(), key_template.literal_prefix());
    };
    return is_one_integer(key_template) && std::ranges::none_of(all, takes_keys_away);
  });
}

}  // namespace cuckooguard::keyspace
