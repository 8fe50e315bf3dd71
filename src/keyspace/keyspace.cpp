#include "keyspace/keyspace.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "keyspace/canonical_integer.h"
#include "keyspace/identity.h"
#include "keyspace/integers_come_back.h"
#include "keyspace/keyspace_checks.h"
#include "keyspace/printable.h"

namespace cuckooguard::keyspace {
namespace {

using Values = std::array<std::string_view, kPlaceholdersMax>;

// What the templates said about a key so far.
struct Findings {
  bool whole = false;
  std::uint32_t template_index = 0;  // if whole
  bool not_sure = false;
  std::optional<std::uint32_t> impossible_ns;  // the strict namespace that says so
};

bool is_integer(ValueType type) {
  return type == ValueType::uint64 || type == ValueType::int64;
}

std::string row_text(std::span<const std::string> columns,
                     std::span<const std::string_view> values) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += (text.empty() ? "row " : ", ") + columns[i] + "=" + printable(values[i]);
  }
  return text;
}

// Why a key that was rendered from a row, and is unguarded now, does not fit its own template.
std::string misfit_text(TemplateFit fit) {
  switch (fit) {
    case TemplateFit::none:
      return "a value is empty, has a ':', or has the literal that should end it";
    case TemplateFit::not_an_integer:
      return "a value is not a canonical integer of its type";
    case TemplateFit::uncertain:
      return "a value has the literal that ends a {_} before it";
    case TemplateFit::whole:
      return "another template with a longer prefix takes it, or it is too long";
  }
  return "unknown";
}

}  // namespace

std::expected<Keyspace, std::vector<KeyspaceError>> Keyspace::build(
    std::vector<NamespaceTemplates> namespaces) {
  std::vector<KeyspaceError> errors = check_namespaces(namespaces);
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  Keyspace result;
  for (NamespaceTemplates& from : namespaces) {
    result.add_space(std::move(from));
  }
  for (std::uint32_t ns = 0; ns < result.spaces_.size(); ++ns) {
    result.spaces_[ns].integers_come_back =
        keyspace::integers_come_back(result.templates(ns), result.templates_);
  }
  result.index_ = TemplateIndex(result.templates_);
  return result;
}

void Keyspace::add_space(NamespaceTemplates from) {
  Space space;
  space.name = std::move(from.name);
  space.strict = from.strict;
  space.templates_begin = static_cast<std::uint32_t>(templates_.size());
  space.templates_count = static_cast<std::uint32_t>(from.templates.size());
  for (const Placeholder& placeholder : from.templates[0].placeholders()) {
    if (!placeholder.wildcard) {
      space.columns.push_back(placeholder.name);
      space.types.push_back(placeholder.type);
    }
  }
  space.is_integer = space.types.size() == 1 && is_integer(space.types[0]);
  for (KeyTemplate& key_template : from.templates) {
    Route route{.ns = static_cast<std::uint32_t>(spaces_.size())};
    const std::span<const Placeholder> placeholders = key_template.placeholders();
    for (std::size_t column = 0; column < space.columns.size(); ++column) {
      const auto at = std::ranges::find(placeholders, space.columns[column], &Placeholder::name);
      route.placeholder_of[column] = static_cast<std::uint8_t>(at - placeholders.begin());
    }
    routes_.push_back(route);
    templates_.push_back(std::move(key_template));
  }
  spaces_.push_back(std::move(space));
}

std::span<const KeyTemplate> Keyspace::templates(std::uint32_t ns) const {
  const Space& space = spaces_.at(ns);
  return std::span(templates_).subspan(space.templates_begin, space.templates_count);
}

Lookup Keyspace::match(std::string_view key, IdentityBuffer& scratch) const noexcept {
  Lookup result;  // the only object that is returned: built in the caller's place
  if (key.size() > kKeyBytesMax) {
    return result;
  }
  TemplateValues values;
  Findings found;
  const auto try_template = [&](std::uint32_t template_index) {
    const Route& route = routes_[template_index];
    switch (templates_[template_index].fit_behind_prefix(key, values)) {
      case TemplateFit::none:
        break;
      case TemplateFit::whole:
        found.whole = true;
        found.template_index = template_index;
        break;
      case TemplateFit::not_an_integer:
        if (!spaces_[route.ns].strict) {
          found.not_sure = true;
        } else if (!found.impossible_ns) {
          found.impossible_ns = route.ns;
        }
        break;
      case TemplateFit::uncertain:
        found.not_sure = true;
        break;
    }
    return found
        .whole;  // no other template with this prefix length can match: build() has made sure
  };
  // A strict template leaves what cannot be its own to shorter prefixes.
  for (std::uint32_t node = index_.longest(key);
       node != TemplateIndex::kNone && !found.whole && !found.not_sure;
       node = index_.shorter(node)) {
    index_.visit_candidates(node, key, try_template);
  }
  if (!found.whole) {
    if (found.impossible_ns && !found.not_sure) {
      result.kind = Lookup::Kind::impossible;
      result.ns = *found.impossible_ns;
    }
    return result;
  }
  const Route& route = routes_[found.template_index];
  const Space& space = spaces_[route.ns];
  result.kind = Lookup::Kind::guarded;
  result.ns = route.ns;
  result.identity = identity_in_key(route, key, values, scratch);
  if (space.is_integer && values.has_number) {
    result.number.emplace(values.number);
  }
  return result;
}

std::string_view Keyspace::identity_in_key(const Route& route,
                                           std::string_view key,
                                           const TemplateValues& values,
                                           IdentityBuffer& scratch) const noexcept {
  const std::span<const ValueType> types = spaces_[route.ns].types;
  if (types.size() == 1) {
    const std::string_view value = values.text(key, route.placeholder_of[0]);
    return write_identity({&value, 1}, types, scratch.identity());
  }
  Values identity_values;
  for (std::size_t column = 0; column < types.size(); ++column) {
    identity_values[column] = values.text(key, route.placeholder_of[column]);
  }
  return write_identity({identity_values.data(), types.size()}, types, scratch.identity());
}

std::expected<std::optional<RowIdentity>, RowError> Keyspace::identity_of_row(
    std::uint32_t ns,
    std::span<const std::optional<std::string_view>> values,
    IdentityBuffer& scratch) const {
  const Space& space = spaces_.at(ns);
  if (values.size() != space.columns.size()) {
    throw std::invalid_argument("identity_of_row: as many values as identity columns are needed");
  }
  if (space.integers_come_back && values[0]) {
    const std::string_view text = *values[0];
    const std::optional<std::uint64_t> number = canonical_uint64(text);
    if (space.types[0] == ValueType::uint64 ? number.has_value()
                                            : canonical_int64(text).has_value()) {
      return RowIdentity{text, number};
    }
  }
  return identity_by_keys(space, values, scratch);
}

std::expected<std::optional<RowIdentity>, RowError> Keyspace::identity_by_keys(
    const Space& space,
    std::span<const std::optional<std::string_view>> values,
    IdentityBuffer& scratch) const {
  Values room;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<std::string_view>& value = values[i];
    if (!value) {
      return std::nullopt;
    }
    room[i] = *value;
  }
  const std::span<const std::string_view> row(room.data(), values.size());
  scratch.row_identity.resize(identity_bytes_max(row));
  RowIdentity result{write_identity(row, space.types, scratch.row_identity), std::nullopt};
  for (std::uint32_t i = 0; i < space.templates_count; ++i) {
    if (auto error = check_row(space, i, {row, result.identity}, scratch)) {
      return std::unexpected(std::move(*error));
    }
  }
  if (space.is_integer) {
    result.number = canonical_uint64(row[0]);
  }
  return result;
}

// Whether the key that template `template_index` of the namespace makes of the row is read back as that row.
std::optional<RowError> Keyspace::check_row(const Space& space,
                                            std::uint32_t template_index,
                                            const Row& row,
                                            IdentityBuffer& scratch) const {
  using Reason = RowError::Reason;
  const KeyTemplate& key_template = templates_[space.templates_begin + template_index];
  const Route& route = routes_[space.templates_begin + template_index];
  const auto error = [&](Reason reason, const std::string& why) {
    return RowError{reason,
                    template_index,
                    row_text(space.columns, row.values) + " has no key by template " +
                        printable(key_template.text()) + ": " + why};
  };
  Values by_placeholder;
  for (std::size_t column = 0; column < row.values.size(); ++column) {
    const std::string_view value = row.values[column];
    by_placeholder[route.placeholder_of[column]] = value;
    if (space.types[column] != ValueType::text_ci) {
      continue;
    }
    if (!is_printable_ascii(value)) {
      return error(Reason::not_printable,
                   "under |ci only printable ASCII can be guarded, since the database may hold "
                   "other text equal to it");
    }
    if (without_trailing_spaces(value).empty()) {
      return error(Reason::blank,
                   "under |ci trailing spaces do not count, and nothing else is there");
    }
  }
  scratch.rendered_key.clear();
  key_template.render(by_placeholder, scratch.rendered_key);
  const Lookup back = match(scratch.rendered_key, scratch);
  if (back.kind != Lookup::Kind::guarded) {
    TemplateValues ignored;
    return error(Reason::does_not_parse_back,
                 misfit_text(key_template.fit(scratch.rendered_key, ignored)));
  }
  const Space& owner = spaces_[back.ns];
  if (&owner != &space) {
    return error(Reason::other_namespace,
                 "that key belongs to namespace " + printable(owner.name) +
                     ", whose template has a longer prefix");
  }
  if (back.identity != row.identity) {
    return error(Reason::other_identity, "that key carries other values");
  }
  return std::nullopt;
}

}  // namespace cuckooguard::keyspace
