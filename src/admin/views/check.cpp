#include "views/check.h"

#include <algorithm>
#include <optional>

#include <boost/json.hpp>

#include "guard/explanation.h"

namespace cuckooguard::views {
namespace {

using guard::Verdict;
using keyspace::Lookup;

namespace json = boost::json;

// A fraction, or a number too large to be exact, is nothing that a key has.
std::optional<std::string> text_of(const json::value& value) {
  if (value.is_string()) {
    const json::string& text = value.get_string();
    return std::string(text.data(), text.size());
  }
  if (value.is_int64()) {
    return std::to_string(value.get_int64());
  }
  if (value.is_uint64()) {
    return std::to_string(value.get_uint64());
  }
  return std::nullopt;
}

std::optional<Identity> identity_of(const json::value& element, std::size_t values) {
  Identity identity;
  const auto take = [&](const json::value& value) {
    std::optional<std::string> text = text_of(value);
    const bool is_good = text && !text->empty();
    identity.push_back(std::move(text).value_or(""));
    return is_good;
  };
  bool is_good = true;
  if (element.is_array()) {
    for (const json::value& value : element.get_array()) {
      is_good = take(value) && is_good;
    }
  } else {
    is_good = take(element);
  }
  return is_good && identity.size() == values ? std::optional(std::move(identity)) : std::nullopt;
}

std::string wanted(std::size_t values) {
  return values == 1 ? "a text that is not empty, or a whole number"
                     : "a list of " + std::to_string(values) +
                           " values, each a text that is not empty or a whole number";
}

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
          ? "no key of this namespace maps to this identity"
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

std::expected<std::vector<Identity>, std::string> parse_identities(std::string_view text,
                                                                   std::size_t values) {
  json::error_code error;
  const json::value body = json::parse({text.data(), text.size()}, error);
  if (error || !body.is_array()) {
    return std::unexpected("The body must be a JSON list of identities" +
                           (error ? ": " + error.message() : "") + ".");
  }
  const json::array& list = body.get_array();
  if (list.size() > kIdentitiesMax) {
    return std::unexpected("The list has more than " + std::to_string(kIdentitiesMax) +
                           " identities.");
  }
  std::vector<Identity> identities;
  identities.reserve(list.size());
  for (const json::value& element : list) {
    auto identity = identity_of(element, values);
    if (!identity) {
      return std::unexpected("Element " + std::to_string(identities.size()) +
                             " of the list must be " + wanted(values) + ".");
    }
    identities.push_back(*std::move(identity));
  }
  return identities;
}

}  // namespace cuckooguard::views
