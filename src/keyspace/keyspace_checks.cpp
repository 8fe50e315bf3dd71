#include <algorithm>
#include <tuple>
#include <utility>

#include "keyspace/keyspace.h"
#include "keyspace/overlap.h"
#include "text/printable.h"

namespace cuckooguard::keyspace {
namespace {

struct Member {  // a template and where it stands
  const KeyTemplate* key_template = nullptr;
  std::size_t namespace_index = 0;
  std::size_t template_index = 0;
};

const Placeholder* find(const KeyTemplate& key_template, const std::string& name) {
  const auto has_name = [&](const Placeholder& other) {
    return !other.wildcard && other.name == name;
  };
  const auto found = std::ranges::find_if(key_template.placeholders(), has_name);
  return found == key_template.placeholders().end() ? nullptr : &*found;
}

// Why `other` does not carry the identity that `first` carries.
std::optional<std::string> difference(const KeyTemplate& first, const KeyTemplate& other) {
  for (const Placeholder& wanted : first.placeholders()) {
    if (wanted.wildcard) {
      continue;
    }
    const Placeholder* const found = find(other, wanted.name);
    if (found == nullptr) {
      return "does not name {" + wanted.name + "}, as " + text::printable(first.text()) + " does";
    }
    if (found->type != wanted.type) {
      return "has " + found->text() + ", but " + text::printable(first.text()) + " has " +
             wanted.text();
    }
  }
  for (const Placeholder& placeholder : other.placeholders()) {
    if (!placeholder.wildcard && find(first, placeholder.name) == nullptr) {
      return "names {" + placeholder.name + "}, but " + text::printable(first.text()) + " does not";
    }
  }
  return std::nullopt;
}

// A longer prefix takes keys away from a |ci template: `user:{name|ci}` would lose `user:bob1` to
// `user:bob{n}`, but not `user:Bob1`, although both are the same row to the database.
bool splits_spellings(const KeyTemplate& one, const KeyTemplate& other) {
  const bool one_is_shorter = one.literal_prefix().size() < other.literal_prefix().size();
  return (one_is_shorter ? one : other).has_spellings();
}

std::string example_text(const std::string& key) {
  return key.empty() ? std::string() : ", for example " + text::printable(key);
}

std::optional<std::string> conflict(const KeyTemplate& earlier, const KeyTemplate& later) {
  const bool same_length = earlier.literal_prefix().size() == later.literal_prefix().size();
  if (!same_length && !splits_spellings(earlier, later)) {
    return std::nullopt;
  }
  const std::optional<std::string> key = overlap(earlier, later);
  if (!key) {
    return std::nullopt;
  }
  if (same_length) {
    return "can match the same key as " + text::printable(earlier.text()) + example_text(*key) +
           ", and neither has the longer literal prefix: change their literals so that they differ";
  }
  return "and " + text::printable(earlier.text()) + " can match the same key" + example_text(*key) +
         ": another template with a longer prefix must not take keys from a template with |ci, "
         ":uuid, :numeric, :date or :bytea, since it would take only some spellings of a value";
}

}  // namespace

std::vector<KeyspaceError> check_namespaces(std::span<const NamespaceTemplates> namespaces) {
  std::vector<KeyspaceError> errors;
  std::vector<Member> members;
  const auto add_error = [&](const Member& at, std::string what) {
    errors.push_back({at.namespace_index, at.template_index, std::move(what)});
  };
  for (std::size_t n = 0; n < namespaces.size(); ++n) {
    const std::vector<KeyTemplate>& templates = namespaces[n].templates;
    if (templates.empty()) {
      add_error({nullptr, n, 0}, "has no key template");
    }
    for (std::size_t t = 0; t < templates.size(); ++t) {
      members.push_back({&templates[t], n, t});
      if (const auto what = difference(templates[0], templates[t])) {
        add_error(members.back(), text::printable(templates[t].text()) + " " + *what);
      }
    }
  }
  if (namespaces.size() > kNamespacesMax || members.size() > kTemplatesMax) {
    add_error({nullptr, namespaces.size() - 1, 0},
              "is one too many: at most " + std::to_string(kNamespacesMax) + " namespaces and " +
                  std::to_string(kTemplatesMax) + " templates");
    return errors;
  }
  for (std::size_t later = 0; later < members.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const KeyTemplate& first = *members[earlier].key_template;
      const KeyTemplate& second = *members[later].key_template;
      if (const auto what = conflict(first, second)) {
        add_error(members[later], text::printable(second.text()) + " " + *what);
        break;  // one reason is enough
      }
    }
  }
  std::ranges::sort(errors, {}, [](const KeyspaceError& error) {
    return std::tie(error.namespace_index, error.template_index, error.what);
  });
  return errors;
}

}  // namespace cuckooguard::keyspace
