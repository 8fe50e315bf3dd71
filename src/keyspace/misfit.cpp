#include "keyspace/misfit.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "keyspace/canonical_text.h"
#include "text/printable.h"

namespace cuckooguard::keyspace {
namespace {

// Whose literal prefix the key has; the others cost next to nothing.
constexpr std::size_t kTemplatesReadMax = 64;

// How far a key goes along with a template, and why no further.
struct Ceasing {
  enum class Why : std::uint8_t {
    prefix,          // the template's literal prefix goes on otherwise
    empty_value,     // of the placeholder
    colon,           // its value would hold one, and nothing comes behind it
    literal,         // the one behind it does not come
    more,            // the template ends here
    not_an_integer,  // to the end; but it is not sure that it is the template's
    not_canonical,   // the placeholder's value
    uncertain,       //
  };
  std::size_t byte = 0;
  Why why = Why::prefix;
  const Placeholder* placeholder = nullptr;
};

struct Nearest {
  std::uint32_t ns = 0;
  const KeyTemplate* key_template = nullptr;
  Ceasing ceasing;
};

// Of a key whose shape is not the template's.
Ceasing where_it_ceases(const KeyTemplate& key_template, std::string_view key) {
  using Why = Ceasing::Why;
  const std::string_view prefix = key_template.literal_prefix();
  if (!key.starts_with(prefix)) {
    const auto same = std::ranges::mismatch(key, prefix).in1 - key.begin();
    return {.byte = static_cast<std::size_t>(same), .why = Why::prefix};
  }
  std::size_t at = prefix.size();
  for (const Placeholder& placeholder : key_template.placeholders()) {
    const std::string_view literal = placeholder.literal_after;
    const bool is_last = &placeholder == &key_template.placeholders().back();
    const std::size_t colon = placeholder.rest ? std::string_view::npos : key.find(':', at);
    if (at >= key.size() || colon == at) {
      return {.byte = at, .why = Why::empty_value, .placeholder = &placeholder};
    }
    const std::size_t end = is_last && literal.empty() ? key.size() : key.find(literal, at + 1);
    if (end == std::string_view::npos || colon < end) {
      return {.byte = std::min(colon, key.size()),
              .why = literal.empty() ? Why::colon : Why::literal,
              .placeholder = &placeholder};
    }
    at = end + literal.size();
  }
  return {.byte = at, .why = Why::more};
}

Ceasing uncertain(const KeyTemplate& key_template,
                  std::string_view key,
                  const TemplateValues& values) {
  const auto placeholders = key_template.placeholders();
  for (std::size_t i = 0; i < placeholders.size(); ++i) {
    if (!is_canonical(placeholders[i].type, values.text(key, i))) {
      return {
          .byte = key.size(), .why = Ceasing::Why::not_canonical, .placeholder = &placeholders[i]};
    }
  }
  return {.byte = key.size(), .why = Ceasing::Why::uncertain};
}

// Nothing if it is the template's: another one stands in the way.
std::optional<Ceasing> ceasing(const KeyTemplate& key_template, std::string_view key) {
  TemplateValues values;
  switch (key_template.fit(key, values)) {
    case TemplateFit::none:
      return where_it_ceases(key_template, key);
    case TemplateFit::whole:
      break;
    case TemplateFit::not_an_integer:
      return Ceasing{.byte = key.size(), .why = Ceasing::Why::not_an_integer};
    case TemplateFit::uncertain:
      return uncertain(key_template, key, values);
  }
  return std::nullopt;
}

Nearest nearest_template(const Keyspace& keyspace, std::string_view key) {
  Nearest nearest;
  std::size_t read = 0;
  for (std::uint32_t ns = 0; ns < keyspace.size(); ++ns) {
    for (const KeyTemplate& key_template : keyspace.templates(ns)) {
      if (key.starts_with(key_template.literal_prefix()) && ++read > kTemplatesReadMax) {
        continue;
      }
      const auto found = ceasing(key_template, key);
      if (found && (nearest.key_template == nullptr || found->byte > nearest.ceasing.byte)) {
        nearest = {.ns = ns, .key_template = &key_template, .ceasing = *found};
      }
    }
  }
  return nearest;
}

std::string text_of(const Nearest& nearest) {
  using Why = Ceasing::Why;
  const Ceasing& ceasing = nearest.ceasing;
  const std::string name =
      ceasing.placeholder == nullptr ? std::string() : "{" + ceasing.placeholder->name + "}";
  switch (ceasing.why) {
    case Why::prefix:
      return "the template has " +
             text::printable(nearest.key_template->literal_prefix().substr(ceasing.byte));
    case Why::empty_value:
      return "the value of " + name + " is empty";
    case Why::colon:
      return "the value of " + name + " would contain ':'; {" + ceasing.placeholder->name +
             ":rest} allows that";
    case Why::literal:
      return "the template has " + text::printable(ceasing.placeholder->literal_after) + " after " +
             name;
    case Why::more:
      return "the template ends";
    case Why::not_an_integer:
      return "it matches, but a value is not a canonical integer, and SQL may treat it as equal to "
             "one; with canonical_keys: true the key would be absent";
    case Why::not_canonical:
      return "it matches, but the value of " + ceasing.placeholder->text() +
             " is not spelled as PostgreSQL prints it, and may equal a row's value";
    case Why::uncertain:
      break;
  }
  return "it matches, but where its values end, or what they are equal to, is ambiguous: only the "
         "database can decide";
}

}  // namespace

Misfit misfit_of(const Keyspace& keyspace, std::string_view key) {
  if (key.size() > kKeyBytesMax) {
    return {.why = "it is longer than " + std::to_string(kKeyBytesMax) + " bytes"};
  }
  const Nearest nearest = nearest_template(keyspace, key);
  if (nearest.key_template == nullptr) {
    return {.why = "the configuration has no namespaces"};
  }
  const std::size_t byte = nearest.ceasing.byte;
  const std::string what = text_of(nearest);
  return {.nearest = nearest.key_template->text() + " of namespace " + keyspace.name(nearest.ns),
          .why = byte >= key.size() ? what
                                    : "at byte " + std::to_string(byte) + ", before " +
                                          text::printable(key.substr(byte)) + ", " + what};
}

}  // namespace cuckooguard::keyspace
