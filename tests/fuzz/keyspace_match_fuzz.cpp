// Templates, keys and rows from arbitrary bytes. What must hold for any of them:
//   a row that is accepted is found by each of its keys, whoever claims it;
//   two templates that match the same key were refused when the keyspace was built, or differ in
//   prefix length.
//
// The input is lines: templates up to an empty line (one that begins with '+' belongs to the
// namespace before it, one that begins with '!' has canonical keys), then keys, which are rows as
// well.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace.h"

namespace {

using namespace cuckooguard::keyspace;

constexpr std::size_t kTemplatesTried = 6;  // so that a run is short, and thus many are made

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<NamespaceTemplates> namespaces_of(std::span<const std::string_view> lines) {
  std::vector<NamespaceTemplates> namespaces;
  for (std::string_view line : lines.first(std::min(lines.size(), kTemplatesTried))) {
    const bool more = line.starts_with('+');
    const bool canonical = line.starts_with('!');
    line.remove_prefix(more || canonical ? 1 : 0);
    auto parsed = KeyTemplate::parse(line);
    if (!parsed) {
      require(parsed.error().offset <= line.size());
      continue;
    }
    if (!more || namespaces.empty()) {
      namespaces.push_back({"some", {}, canonical});
    }
    namespaces.back().templates.push_back(std::move(*parsed));
  }
  return namespaces;
}

using Values = std::vector<std::optional<std::string_view>>;

std::string key_of(const Keyspace& keyspace,
                   std::uint32_t ns,
                   const KeyTemplate& key_template,
                   const Values& row) {
  const std::span<const std::string> columns = keyspace.identity_columns(ns);
  std::string key(key_template.literal_prefix());
  for (const Placeholder& placeholder : key_template.placeholders()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      key += columns[i] == placeholder.name ? *row[i] : std::string_view();
    }
    key += (placeholder.wildcard ? "\x01" : "") + placeholder.literal_after;
  }
  return key;
}

void check_row(const Keyspace& keyspace, std::uint32_t ns, std::string_view bytes) {
  const std::span<const std::string> columns = keyspace.identity_columns(ns);
  Values row;
  row.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {  // an equal share of the bytes for each column
    row.emplace_back(
        bytes.substr(bytes.size() * i / columns.size(), bytes.size() / columns.size()));
  }
  const auto is_impossible = [](const Placeholder& placeholder, std::string_view value) {
    return is_printed(placeholder.type) && (value.empty() || value.contains(':'));
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto placeholders = keyspace.templates(ns).front().placeholders();
    const auto at = std::ranges::find(placeholders, columns[i], &Placeholder::name);
    if (is_impossible(*at, *row[i])) {  // no database prints it so
      return;
    }
  }
  IdentityBuffer scratch;
  IdentityBuffer other;
  const auto result = keyspace.identity_of_row(ns, row, scratch);
  if (!result) {
    require(!result.error().what.empty());
    return;
  }
  const std::optional<RowIdentity>& accepted = *result;
  for (const KeyTemplate& key_template : keyspace.templates(ns)) {
    const std::string key = key_of(keyspace, ns, key_template, row);
    const Lookup found = keyspace.match(key, other);
    if (found.kind == Lookup::Kind::unguarded) {
      continue;  // it passes
    }
    const auto is_it = [&](std::uint32_t of, std::string_view identity, bool may_be_any) {
      return of == ns && accepted &&
             (accepted->is_isolated
                  ? may_be_any || keyspace.pattern_of_row(ns, row).matches(identity)
                  : identity == accepted->identity);
    };
    require(is_it(found.ns, found.identity, false) ||
            std::ranges::any_of(keyspace.makers_of(found), [&](std::uint32_t maker) {
              const Reading read = keyspace.read(maker, key, other);
              return read.kind == Reading::Kind::unsure ||
                     (read.kind == Reading::Kind::sure &&
                      is_it(read.ns, read.identity, read.may_be_any_isolated));
            }));
  }
}

void check_key(const Keyspace& keyspace, std::string_view key) {
  IdentityBuffer scratch;
  scratch.likely_template = kTemplatesTried;  // none
  const Lookup found = keyspace.match(key, scratch);
  for (std::uint32_t last = 0; last < kTemplatesTried; ++last) {
    IdentityBuffer other;
    other.likely_template = last;
    const Lookup again = keyspace.match(key, other);
    require(again.kind == found.kind && again.ns == found.ns && again.number == found.number &&
            again.template_index == found.template_index && again.identity == found.identity);
  }
  if (found.kind != Lookup::Kind::guarded) {
    return;
  }
  std::size_t longest = 0;
  std::size_t with_longest = 0;
  for (std::uint32_t ns = 0; ns < keyspace.size(); ++ns) {
    for (const KeyTemplate& key_template : keyspace.templates(ns)) {
      TemplateValues values;
      const std::size_t length = key_template.literal_prefix().size() + 1;
      if (key_template.fit(key, values) != TemplateFit::whole || length < longest) {
        continue;
      }
      with_longest = length == longest ? with_longest + 1 : 1;
      longest = length;
    }
  }
  require(with_longest == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::vector<std::string_view> lines = lines_of(text);
  const auto blank = std::ranges::find(lines, std::string_view());
  const auto built = Keyspace::build(namespaces_of({lines.begin(), blank}));
  if (!built) {
    require(!built.error().empty());
    return 0;
  }
  for (auto line = blank; line != lines.end(); ++line) {
    check_key(*built, *line);
    for (std::uint32_t ns = 0; ns < built->size(); ++ns) {
      check_row(*built, ns, *line);
    }
  }
  return 0;
}
