// The rows of a Keyspace: which identities their keys have.
#include <algorithm>
#include <list>
#include <stdexcept>
#include <utility>

#include "keyspace/canonical_text.h"
#include "keyspace/identity.h"
#include "keyspace/keyspace.h"
#include "text/printable.h"

namespace cuckooguard::keyspace {
namespace {

std::string row_text(std::span<const std::string> columns,
                     std::span<const std::string_view> values) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += (text.empty() ? "row " : ", ") + columns[i] + "=" + text::printable(values[i]);
  }
  return text;
}

// In a column of texts SQL may take it for another number: 007 for 7, and a word for 0.
bool is_no_integer(ValueType type, std::string_view value) {
  return (type == ValueType::uint64 || type == ValueType::int64) && !canonical_uint64(value) &&
         !canonical_int64(value);
}

std::optional<std::uint64_t> number_of(ValueType type, std::string_view value) {
  return type == ValueType::uint64 || canonical_int64(value) ? canonical_uint64(value)
                                                             : std::nullopt;
}

// With something printable in place of all else.
std::string with_letters_for_runs(std::string_view value) {
  std::string text(value);
  std::ranges::replace_if(text, [](const char& c) { return !is_printable_ascii({&c, 1}); }, 'a');
  return text;
}

}  // namespace

// What is asked of a row, and what its keys say.
struct Keyspace::Row {
  const Space& space;
  Texts values{};
  bool has_run = false;               // a |ci value is other than printable ASCII
  bool has_no_integer = false;        // a value is a text where keys have integers
  bool has_odd_value = false;         // infinity, NaN: keys with it are not judged
  bool is_spelled_otherwise = false;  // what is known of a key is all of it, in one spelling
  std::list<std::string> made{};      // texts that are not in it
  // The identity that the values are, and those that the row's keys have: each once.
  std::string_view own{};
  bool is_own = false;
  std::vector<std::string> others{};

  std::span<const std::string_view> all(const Texts& texts) const {
    return std::span(texts).first(space.types.size());
  }
  Texts shown();
  std::optional<std::vector<Texts>> with_equal_integers(const Texts& texts);
  std::size_t identities() const { return others.size() + (is_own ? 1 : 0); }
  void add(std::string_view identity) {
    if (identity == own) {
      is_own = true;
    } else if (std::ranges::find(others, identity) == others.end()) {
      others.emplace_back(identity);
    }
  }
  // Of a key that is read as a whole.
  void add_claimed(std::string_view identity) {
    add(identity);
    is_spelled_otherwise = is_spelled_otherwise || space.has_own_type;
  }
  bool is_judged(TemplateFit fit) const {
    return fit != TemplateFit::none && (fit != TemplateFit::not_an_integer || space.canonical_keys);
  }
  // With another spelling, or another value for a {_}.
  bool may_be_read_otherwise(const KeyTemplate& key_template) const {
    return key_template.has_wildcard() ||
           (space.has_folded && !key_template.ends_values_at_colons()) ||
           (space.has_own_type && key_template.placeholders().back().rest);
  }
  std::optional<RowError> unless_too_many(std::optional<RowError> error_so_far) const {
    return error_so_far || identities() <= IdentityPattern::kIdentitiesMax
               ? std::move(error_so_far)
               : error(RowError::Reason::other_identity, 0, "they carry too many different values");
  }
  void add_value(const KeyTemplate& key_template,
                 const Route& route,
                 std::string_view value,
                 std::span<char> room);
  std::optional<RowError> add_values(const Keyspace& keyspace,
                                     std::uint32_t index,
                                     std::span<const std::string_view> texts,
                                     IdentityBuffer& scratch);
  RowError error(RowError::Reason reason, std::size_t template_index, std::string_view why) const {
    return {reason,
            template_index,
            keyspace::row_text(space.columns, all(values)) +
                " cannot be identified by its keys: " + std::string(why)};
  }
};

std::expected<std::optional<RowIdentity>, RowError> Keyspace::identity_of_row(
    std::uint32_t ns,
    std::span<const std::optional<std::string_view>> values,
    IdentityBuffer& scratch) const {
  const Space& space = spaces_.at(ns);
  const std::optional<std::string_view> first = values.empty() ? std::nullopt : values.front();
  if (space.is_all_of_keys && values.size() == 1 && first) {  // most rows
    const std::string_view text = *first;
    const std::optional<std::uint64_t> number = canonical_uint64(text);
    if (space.types[0] == ValueType::uint64 ? number.has_value()
                                            : canonical_int64(text).has_value()) {
      return RowIdentity{text, number};
    }
  }
  Row row{.space = space};
  if (!take_values(row, values)) {
    return std::nullopt;
  }
  if (auto error = add_identities(row, scratch)) {
    return std::unexpected(*std::move(error));
  }
  if (row.has_run) {
    return RowIdentity{
        .identity = write_identity(row.all(row.values), space.types, scratch.row_identity),
        .number = std::nullopt,
        .is_isolated = true};
  }
  if (row.identities() == 0) {
    return std::nullopt;
  }
  if (row.identities() > 1 || row.is_spelled_otherwise) {
    return RowIdentity{.identity = row.own, .number = std::nullopt, .is_isolated = true};
  }
  if (!row.is_own) {
    scratch.key_identity = std::move(row.others[0]);
    return RowIdentity{.identity = scratch.key_identity, .number = std::nullopt};
  }
  return RowIdentity{
      .identity = row.own,
      .number = space.is_integer ? number_of(space.types[0], row.values[0]) : std::nullopt};
}

IdentityPattern Keyspace::pattern_of_row(
    std::uint32_t ns, std::span<const std::optional<std::string_view>> values) const {
  Row row{.space = spaces_.at(ns)};
  if (!take_values(row, values)) {
    return {};
  }
  if (row.has_run) {
    return IdentityPattern::of(row.all(row.values), row.space.types, row.space.may_split)
        .value_or(IdentityPattern());
  }
  IdentityBuffer scratch;
  if (add_identities(row, scratch)) {
    return {};
  }
  if (row.is_own) {
    row.others.emplace_back(row.own);
  }
  return IdentityPattern::of_identities(row.others);
}

std::string Keyspace::row_text(std::uint32_t ns,
                               std::span<const std::optional<std::string_view>> values) const {
  Texts texts;
  std::ranges::transform(
      values, texts.begin(), [](const auto& value) { return value.value_or(std::string_view()); });
  return keyspace::row_text(spaces_.at(ns).columns, {texts.data(), values.size()});
}

// False: the row has no key that is judged, whatever the templates are.
bool Keyspace::take_values(Row& row,
                           std::span<const std::optional<std::string_view>> values) const {
  const std::span<const ValueType> types = row.space.types;
  if (values.size() != types.size()) {
    throw std::invalid_argument("identity_of_row: as many values as identity columns are needed");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<std::string_view>& value = values[i];
    if (!value) {
      return false;
    }
    row.values[i] = types[i] == ValueType::numeric ? without_scale(*value) : *value;
    row.has_odd_value =
        row.has_odd_value || (is_printed(types[i]) && !is_canonical(types[i], row.values[i]));
    row.has_run = row.has_run || (is_folded(types[i]) && !is_printable_ascii(*value));
    row.has_no_integer = row.has_no_integer || is_no_integer(types[i], *value);
  }
  return !row.has_run || IdentityPattern::of(row.all(row.values), types, row.space.may_split);
}

std::optional<RowError> Keyspace::add_identities(Row& row, IdentityBuffer& scratch) const {
  const Texts texts = row.shown();
  const std::span<const std::string_view> own = row.all(texts);
  scratch.row_identity.resize(
      std::max(identity_bytes_max(own), identity_bytes_max(row.all(row.values))));
  row.own = write_identity(own, row.space.types, scratch.row_identity);
  const auto add_keys = [&](const Texts& some) -> std::optional<RowError> {
    for (std::uint32_t i = 0; i < row.space.templates_count; ++i) {
      if (auto error = add_key(row, some, i, scratch)) {
        return error;
      }
    }
    return std::nullopt;
  };
  if (!row.has_no_integer) {
    return row.unless_too_many(add_keys(texts));
  }
  const auto all = row.with_equal_integers(texts);
  if (!all) {
    return row.error(RowError::Reason::does_not_parse_back,
                     0,
                     "SQL may treat a text that is not an integer as any of several integers");
  }
  for (const Texts& some : *all) {
    if (auto error = row.unless_too_many(add_keys(some))) {
      return error;
    }
  }
  return std::nullopt;
}

// |ci values in their shortest spelling, which ends where all others do, or it is an error.
Keyspace::Texts Keyspace::Row::shown() {
  Texts texts = values;
  for (std::size_t i = 0; space.has_folded && i < space.types.size(); ++i) {
    if (!is_folded(space.types[i])) {
      continue;
    }
    texts[i] = without_trailing_spaces(texts[i]);
    if (has_run && !is_printable_ascii(texts[i])) {
      texts[i] = made.emplace_back(with_letters_for_runs(texts[i]));
    }
  }
  return texts;
}

// As they are, and with each integer that SQL takes one of them for; nothing if it takes one for
// several.
std::optional<std::vector<Keyspace::Texts>> Keyspace::Row::with_equal_integers(const Texts& texts) {
  std::vector<Texts> all{texts};
  for (std::size_t i = 0; i < space.types.size(); ++i) {
    EqualInteger equal =
        is_no_integer(space.types[i], texts[i]) ? equal_integer(texts[i]) : EqualInteger{};
    if (!equal.is_known) {
      return std::nullopt;
    }
    if (!equal.text) {
      continue;
    }
    const std::string_view integer = made.emplace_back(*std::move(equal.text));
    for (std::size_t known = all.size(); known-- > 0;) {
      all.push_back(all[known]);
      all.back()[i] = integer;
    }
  }
  return all;
}

// The identity of the key that template `index` of the namespace makes of these values; none if no
// key of that kind is judged.
std::optional<RowError> Keyspace::add_key(Row& row,
                                          const Texts& texts,
                                          std::uint32_t index,
                                          IdentityBuffer& scratch) const {
  const std::uint32_t template_index = row.space.templates_begin + index;
  const KeyTemplate& key_template = templates_[template_index];
  const Route& route = routes_[template_index];
  const bool has_one = key_template.placeholders().size() == 1;
  if (!has_one || row.has_no_integer) {
    Texts by_placeholder;
    for (std::size_t column = 0; column < row.space.types.size(); ++column) {
      by_placeholder[route.placeholder_of[column]] = texts[column];
    }
    scratch.rendered_key.clear();
    key_template.render(by_placeholder, scratch.rendered_key);
  }
  const bool is_only_key = !row.space.has_folded && !key_template.has_wildcard();
  if (row.has_no_integer &&
      !(is_only_key && is_read_by(template_index, scratch.rendered_key, scratch))) {
    return row.error(RowError::Reason::other_namespace,
                     index,
                     "another template may match the key of a text that is not an integer");
  }
  if (!has_one) {
    return row.add_values(*this, index, row.all(texts), scratch);
  }
  row.add_value(key_template, route, texts[0], scratch.identity());
  return std::nullopt;
}

// Of a template with one placeholder: whatever the value is, it has no other end.
void Keyspace::Row::add_value(const KeyTemplate& key_template,
                              const Route& route,
                              std::string_view value,
                              std::span<char> room) {
  const Placeholder& placeholder = key_template.placeholders().front();
  const bool is_key =
      !has_odd_value && (space.has_folded || !value.empty()) &&
      (placeholder.rest || value.find(':') == std::string_view::npos) &&
      (!space.is_integer || space.canonical_keys || is_canonical(placeholder.type, value));
  if (value.size() <= kKeyBytesMax && (is_key || route.loss == Loss::any)) {
    add(write_identity({&value, 1}, space.types, room));
  }
}

// Of one with several, in scratch.rendered_key.
std::optional<RowError> Keyspace::Row::add_values(const Keyspace& keyspace,
                                                  std::uint32_t index,
                                                  std::span<const std::string_view> texts,
                                                  IdentityBuffer& scratch) {
  const KeyTemplate& key_template = keyspace.templates_[space.templates_begin + index];
  const Route& route = keyspace.routes_[space.templates_begin + index];
  const std::string& key = scratch.rendered_key;
  const bool has_other_keys = may_be_read_otherwise(key_template);
  const auto refusal = [&] {
    return error(RowError::Reason::does_not_parse_back,
                 index,
                 "by template " + text::printable(key_template.text()) +
                     " a value is empty, contains ':', or contains the literal that ends it");
  };
  if (key.size() > kKeyBytesMax) {  // another spelling, or what |ci takes for a row, may be shorter
    if (space.has_own_type && route.loss == Loss::any) {
      add_claimed(own);
    }
    return has_other_keys && has_run ? std::optional(refusal()) : std::nullopt;
  }
  TemplateValues found;
  if (!space.has_folded && !has_other_keys && route.loss != Loss::any &&
      !is_judged(key_template.fit(key, found))) {
    return std::nullopt;
  }
  const TemplateFit fit = key_template.read(key, found);
  if (has_odd_value && fit == TemplateFit::uncertain) {
    return std::nullopt;
  }
  const std::string_view identity = fit == TemplateFit::none
                                        ? std::string_view()
                                        : keyspace.identity_in_key(route, key, found, scratch);
  if (has_other_keys) {
    scratch.key_identity.resize(identity_bytes_max(texts));
    const std::string_view wanted = write_identity(texts, space.types, scratch.key_identity);
    if (fit == TemplateFit::uncertain || fit == TemplateFit::none || identity != wanted) {
      return refusal();
    }
  }
  if (fit != TemplateFit::none) {
    add(identity);
  } else if (route.loss == Loss::any) {
    add_claimed(write_key_identity(key, space.has_folded, scratch.identity()));
  }
  return std::nullopt;
}

// Whether who looks for the key asks for it as it is read by this template, if it is judged at all.
bool Keyspace::is_read_by(std::uint32_t template_index,
                          std::string_view key,
                          IdentityBuffer& scratch) const {
  const Lookup found = match(key, scratch);
  return found.kind == Lookup::Kind::unguarded || found.template_index == template_index ||
         std::ranges::find(makers_of(found), template_index) != makers_of(found).end();
}

}  // namespace cuckooguard::keyspace
