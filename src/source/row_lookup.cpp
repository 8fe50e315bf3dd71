#include "source/row_lookup.h"

#include <algorithm>

namespace cuckooguard::source {

RowAnswer RowLookup::ask(std::uint32_t ns, std::string_view identity, const std::stop_token& stop) {
  const auto target = std::ranges::find(targets_, ns, &Target::ns);
  if (target == targets_.end()) {
    return {.why = "the namespace does not belong to this source"};
  }
  const Has has = look(*target, identity, stop);
  if (!has) {
    return {.presence = RowPresence::unknown, .why = has.error()};
  }
  return {.presence = *has ? RowPresence::present : RowPresence::absent};
}

bool RowLookup::is_it(const Target& target,
                      std::span<const std::optional<std::string_view>> values,
                      std::string_view identity) {
  const auto of_row = target.keyspace.identity_of_row(target.ns, values, scratch_);
  if (!of_row) {
    return false;
  }
  const auto& found = *of_row;
  if (found && found->is_isolated) {
    return target.keyspace.pattern_of_row(target.ns, values).matches(identity);
  }
  return found && found->identity == identity;
}

}  // namespace cuckooguard::source
