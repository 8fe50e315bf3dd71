// Random templates, keys and rows over a tiny alphabet, so that everything collides with
// everything; and a slow reference for what Keyspace must answer, written from the description and
// not from the code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/canonical_text.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::keyspace::testing {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

inline std::string random_text(Random& random, std::string_view alphabet, std::size_t bytes_max) {
  std::string text(below(random, bytes_max + 1), '\0');
  for (char& c : text) {
    c = alphabet[below(random, alphabet.size())];
  }
  return text;
}

inline KeyTemplate must_parse(std::string_view text) {
  auto parsed = KeyTemplate::parse(text);
  if (!parsed) {
    throw std::invalid_argument(std::string(text) + " " + parsed.error().what);
  }
  return std::move(*parsed);
}

// A text that is often, but not always, a valid template.
inline std::string random_template_text(Random& random, std::string_view literals) {
  constexpr std::string_view kForms[] = {"{a}",
                                         "{b}",
                                         "{_}",
                                         "{a:uint64}",
                                         "{b:int64}",
                                         "{a|ci}",
                                         "{b|ci}",
                                         "{b:rest}",
                                         "{_:rest}",
                                         "{a:uuid}",
                                         "{b:numeric}"};
  std::string text = random_text(random, literals, 2);
  const std::size_t count = 1 + below(random, 3);
  for (std::size_t i = 0; i < count; ++i) {
    text += kForms[below(random, std::size(kForms))];
    text += random_text(random, literals, 2);
  }
  return text;
}

inline std::optional<KeyTemplate> random_template(Random& random, std::string_view literals) {
  auto parsed = KeyTemplate::parse(random_template_text(random, literals));
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

// What a key says by the reference: `values` by placeholder name, if it fits.
struct ReferenceFit {
  TemplateFit fit = TemplateFit::none;
  std::map<std::string, std::string> values;
};

inline std::string folded(std::string text) {
  for (char& c : text) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

inline TemplateFit reference_judge(const Placeholder& placeholder, const std::string& value) {
  if (placeholder.type == ValueType::uint64) {
    return canonical_uint64(value) ? TemplateFit::whole : TemplateFit::not_an_integer;
  }
  if (placeholder.type == ValueType::int64) {
    return canonical_int64(value) ? TemplateFit::whole : TemplateFit::not_an_integer;
  }
  if (is_of_own_type(placeholder.type)) {
    return is_canonical(placeholder.type, value) ? TemplateFit::whole : TemplateFit::uncertain;
  }
  bool printable = true;
  for (const char c : value) {
    printable = printable && c >= 32 && c < 127;
  }
  return placeholder.type == ValueType::text || printable ? TemplateFit::whole
                                                          : TemplateFit::uncertain;
}

inline ReferenceFit reference_fit(const KeyTemplate& key_template, const std::string& key) {
  ReferenceFit result;
  const std::string prefix(key_template.literal_prefix());
  if (key.substr(0, prefix.size()) != prefix) {
    return result;
  }
  TemplateFit fit = TemplateFit::whole;
  std::size_t at = prefix.size();
  const auto placeholders = key_template.placeholders();
  for (std::size_t i = 0; i < placeholders.size(); ++i) {
    const Placeholder& placeholder = placeholders[i];
    const std::string& literal = placeholder.literal_after;
    const bool last = i + 1 == placeholders.size();
    std::vector<std::size_t> ends;  // everywhere the value could end
    for (std::size_t end = at + 1; end + literal.size() <= key.size(); ++end) {
      const bool ends_here = key.substr(end, literal.size()) == literal;
      const bool has_colon =
          !placeholder.rest && key.substr(at, end - at).find(':') != std::string::npos;
      if (ends_here && !has_colon && (!last || end + literal.size() == key.size())) {
        ends.push_back(end);
      }
    }
    // The first occurrence counts even if a ':' makes it useless, but then a later one has that ':'
    // as well.
    if (ends.empty()) {
      return result;
    }
    if (placeholder.wildcard && ends.size() > 1) {
      fit = TemplateFit::uncertain;
    }
    const std::string value = key.substr(at, ends[0] - at);
    fit = std::max(fit, reference_judge(placeholder, value));
    if (!placeholder.wildcard) {
      result.values[placeholder.name] = is_folded(placeholder.type) ? folded(value) : value;
    }
    at = ends[0] + literal.size();
  }
  result.fit = fit;
  return result;
}

// Whether an application can make `key` of the template: a wildcard may hold anything, its own
// literal included.
inline bool reference_could_make(const KeyTemplate& key_template,
                                 const std::string& key,
                                 std::size_t at,
                                 std::size_t i) {
  const Placeholder& placeholder = key_template.placeholders()[i];
  const std::string& literal = placeholder.literal_after;
  const bool last = i + 1 == key_template.placeholders().size();
  for (std::size_t end = at + 1; end + literal.size() <= key.size(); ++end) {
    const std::string value = key.substr(at, end - at);
    if (key.substr(end, literal.size()) != literal ||
        (last && end + literal.size() != key.size())) {
      continue;
    }
    const bool has_colon = !placeholder.rest && value.find(':') != std::string::npos;
    const bool fits =
        !has_colon && reference_judge(placeholder, value) != TemplateFit::not_an_integer;
    if (fits && (last || reference_could_make(key_template, key, end + literal.size(), i + 1))) {
      return true;
    }
    if (!placeholder.wildcard) {
      return false;  // ends at the first occurrence, or nowhere
    }
  }
  return false;
}

inline bool reference_could_make(const KeyTemplate& key_template, const std::string& key) {
  const std::string_view prefix = key_template.literal_prefix();
  return key.starts_with(prefix) && reference_could_make(key_template, key, prefix.size(), 0);
}

struct ReferenceLookup {
  Lookup::Kind kind = Lookup::Kind::unguarded;
  std::size_t ns = 0;
  std::map<std::string, std::string> values;
};

inline ReferenceLookup reference_match(const std::vector<NamespaceTemplates>& namespaces,
                                       const std::string& key) {
  std::map<std::size_t, std::vector<std::pair<std::size_t, ReferenceFit>>, std::greater<>>
      by_prefix_length;
  for (std::size_t n = 0; n < namespaces.size(); ++n) {
    for (const KeyTemplate& key_template : namespaces[n].templates) {
      ReferenceFit fit = reference_fit(key_template, key);
      if (fit.fit != TemplateFit::none) {
        by_prefix_length[key_template.literal_prefix().size()].emplace_back(n, std::move(fit));
      }
    }
  }
  ReferenceLookup result;
  for (const auto& [bytes, fits] : by_prefix_length) {
    bool sure = true;
    for (const auto& [n, fit] : fits) {
      if (fit.fit == TemplateFit::whole) {
        return {Lookup::Kind::guarded, n, fit.values};
      }
      sure = sure && fit.fit == TemplateFit::not_an_integer && namespaces[n].canonical_keys;
    }
    if (!sure) {
      return {};
    }
    result.kind = Lookup::Kind::impossible;
  }
  return result;
}

// One to three namespaces that build() accepts, by trying.
inline std::vector<NamespaceTemplates> random_namespaces(Random& random,
                                                         std::string_view literals) {
  while (true) {
    std::vector<NamespaceTemplates> namespaces;
    const std::size_t count = 1 + below(random, 3);
    for (std::size_t n = 0; n < count; ++n) {
      NamespaceTemplates space{"ns" + std::to_string(n), {}, below(random, 2) == 0};
      const std::size_t templates = 1 + below(random, 2);
      for (std::size_t t = 0; t < templates; ++t) {
        if (auto found = random_template(random, literals)) {
          space.templates.push_back(std::move(*found));
        }
      }
      namespaces.push_back(std::move(space));
    }
    if (Keyspace::build(namespaces)) {
      return namespaces;
    }
  }
}

inline Keyspace must_build(std::vector<NamespaceTemplates> namespaces) {
  auto built = Keyspace::build(std::move(namespaces));
  if (!built) {
    throw std::invalid_argument(built.error()[0].what);
  }
  return std::move(*built);
}

// `namespaces` as they stand in a configuration, for failure messages.
inline std::string text_of(const std::vector<NamespaceTemplates>& namespaces) {
  std::string text;
  for (const NamespaceTemplates& space : namespaces) {
    text += space.name + (space.canonical_keys ? " canonical" : "");
    for (const KeyTemplate& key_template : space.templates) {
      text += " " + key_template.text();
    }
    text += "; ";
  }
  return text;
}

}  // namespace cuckooguard::keyspace::testing
