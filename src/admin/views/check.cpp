#include "views/check.h"

#include <algorithm>
#include <array>

#include "guard/explanation.h"

namespace cuckooguard::views {
namespace {

using guard::Verdict;
using keyspace::Lookup;

}  // namespace

std::span<const std::string> Check::values_of(std::uint32_t ns) const {
  return guard_.parts().keyspace.identity_columns(ns);
}

Check::Answer Check::ask(std::uint32_t ns,
                         std::span<const std::string> values,
                         guard::TimePoint now) {
  const guard::Guard::Inspection seen = inspect(ns, values, now);
  guard_.parts().namespaces[ns].counts->checked.of(seen.verdict).add();
  Answer answer{.may_exist = seen.verdict != Verdict::absent, .verdict = seen.verdict};
  answer.reason =
      seen.verdict == Verdict::unguarded
          ? "no key of this namespace leads back to this identity"
          : guard::reason_of(guard_.parts(), seen, guard_.parts().namespaces[ns].db, now);
  return answer;
}

guard::Guard::Inspection Check::inspect(std::uint32_t ns,
                                        std::span<const std::string> values,
                                        guard::TimePoint now) {
  const std::string_view key = key_of(ns, values);
  // By HTTP nobody waits for a proof: absent is no older than max_lag, in a strict namespace, too.
  const guard::GuardedNamespace& space = guard_.parts().namespaces[ns];
  const guard::Guard::Inspection seen = guard_.inspect(
      key, {.db = space.db, .access = anybody_, .now = now, .read_at = now - space.max_lag});
  if (seen.verdict == Verdict::unguarded || seen.found.ns != ns) {
    return {};
  }
  if (seen.found.kind == Lookup::Kind::impossible) {
    return seen;
  }
  // A value can hold what should have ended it: the key must be read as the row is.
  const std::vector<std::optional<std::string_view>> row(values.begin(), values.end());
  const auto identity = guard_.parts().keyspace.identity_of_row(ns, row, scratch_);
  const bool leads_back = identity && *identity && (*identity)->identity == seen.found.identity;
  return leads_back ? seen : guard::Guard::Inspection{};
}

std::string_view Check::key_of(std::uint32_t ns, std::span<const std::string> values) {
  const keyspace::KeyTemplate& first = guard_.parts().keyspace.templates(ns).front();
  std::vector<std::string_view> by_placeholder;
  for (const keyspace::Placeholder& placeholder : first.placeholders()) {
    const auto column = std::ranges::find(values_of(ns), placeholder.name);
    by_placeholder.push_back(
        placeholder.wildcard
            ? std::string_view()
            : std::string_view(values[static_cast<std::size_t>(column - values_of(ns).begin())]));
  }
  key_.clear();
  first.render(by_placeholder, key_);
  return key_;
}

}  // namespace cuckooguard::views
