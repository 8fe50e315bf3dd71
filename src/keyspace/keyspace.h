// All namespaces' key templates together: key -> (namespace, identity), and row -> identity.
//
// The identity is what the filter stores: the bytes of the value where a namespace has one placeholder (a view of the
// key, nothing copied), else every value but the last behind its length (4 bytes, little endian), and the last one
// raw: two different tuples never give the same bytes. `|ci` values are folded (ASCII case, trailing spaces).
//
// Must: a row that identity_of_row() accepts has, for each of its keys, the very identity that match() gives.
//       A row of which that is not true is an error, never silently another identity. (tests/keyspace)
// Called by: sources (rows), the guard (keys), config (build, for its errors).
// Threads: immutable after build; const calls may run together, each thread with its own IdentityBuffer.
// Lifetimes: an identity views the key, the row's values or the IdentityBuffer: it is valid until any of them changes.
// Errors: values. Calling with a namespace or a number of values that does not exist is a programming error (throws).
// Limits: keys above kKeyBytesMax are unguarded; kNamespacesMax namespaces, kTemplatesMax templates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/identity_buffer.h"
#include "keyspace/key_template.h"
#include "keyspace/template_index.h"

namespace cuckooguard::keyspace {

inline constexpr std::size_t kNamespacesMax = 1024;
inline constexpr std::size_t kTemplatesMax = 4096;

struct NamespaceTemplates {
  std::string name;
  std::vector<KeyTemplate> templates;
  bool strict =
      false;  // a value that is no canonical integer cannot exist: absent without a look-up
};

struct KeyspaceError {
  std::size_t namespace_index;
  std::size_t template_index;
  std::string what;
};

struct Lookup {
  enum class Kind : std::uint8_t {
    unguarded,   // no namespace's key, or one of which the guard cannot be sure
    guarded,     // ask the filter of namespace `ns` for `identity`
    impossible,  // a key of the strict namespace `ns` that no row can have
  };
  Kind kind = Kind::unguarded;
  std::uint32_t ns = 0;
  std::string_view identity;
  std::optional<std::uint64_t> number;  // the identity, where it is one integer from 0
};

struct RowIdentity {
  std::string_view identity;
  std::optional<std::uint64_t> number;
};

struct RowError {
  enum class Reason : std::uint8_t {
    does_not_parse_back,  // the key rendered from the row is unguarded, or impossible
    other_namespace,      // it is a key of another namespace
    other_identity,       // it carries other values than the row's
    not_printable,  // |ci, and other than printable ASCII: the database may equate it with ASCII
    blank,          // |ci, and nothing is left without trailing spaces
  };
  Reason reason;
  std::size_t template_index;
  std::string what;  // names the row (values escaped and cut), the template and the reason
};

class Keyspace {
 public:
  // Every error at once, in the order of namespaces and templates. Two templates that can both match one key and have
  // equally long literal prefixes are an error; so is a longer prefix inside a |ci template, since another spelling
  // of the same text would be another namespace's key.
  static std::expected<Keyspace, std::vector<KeyspaceError>> build(
      std::vector<NamespaceTemplates> namespaces);

  // The template with the longest literal prefix wins among those whose shape the key has; but what a strict
  // namespace cannot have is left to shorter prefixes.
  Lookup match(std::string_view key, IdentityBuffer& scratch) const noexcept;

  // `values` in the order of identity_columns(ns), nullopt for NULL. No value in the result: the row has no key,
  // since one of its values is NULL.
  std::expected<std::optional<RowIdentity>, RowError> identity_of_row(
      std::uint32_t ns,
      std::span<const std::optional<std::string_view>> values,
      IdentityBuffer& scratch) const;

  std::size_t size() const { return spaces_.size(); }
  const std::string& name(std::uint32_t ns) const { return spaces_.at(ns).name; }
  std::span<const KeyTemplate> templates(std::uint32_t ns) const;
  // Placeholder names in identity order: the first template's, wildcards left out.
  std::span<const std::string> identity_columns(std::uint32_t ns) const {
    return spaces_.at(ns).columns;
  }
  // Whether the rows of canonical integers need no keys (integers_come_back.h).
  bool integers_come_back(std::uint32_t ns) const { return spaces_.at(ns).integers_come_back; }
  // Whether the identity is one integer, so that Lookup::number and `fresh_ids` make sense.
  bool identity_is_integer(std::uint32_t ns) const { return spaces_.at(ns).is_integer; }

 private:
  struct Space {
    std::string name;
    std::vector<std::string> columns;
    std::vector<ValueType> types;  // of the columns
    std::uint32_t templates_begin = 0;
    std::uint32_t templates_count = 0;
    bool strict = false;
    bool is_integer = false;
    bool integers_come_back = false;
  };
  struct Route {  // beside each template: whose it is, and where the identity's values are
    std::uint32_t ns = 0;
    std::array<std::uint8_t, kPlaceholdersMax> placeholder_of{};  // per identity column
  };
  struct Row {  // both in identity order
    std::span<const std::string_view> values;
    std::string_view identity;
  };

  Keyspace() = default;
  void add_space(NamespaceTemplates from);
  std::string_view identity_in_key(const Route& route,
                                   std::string_view key,
                                   const TemplateValues& values,
                                   IdentityBuffer& scratch) const noexcept;
  std::expected<std::optional<RowIdentity>, RowError> identity_by_keys(
      const Space& space,
      std::span<const std::optional<std::string_view>> values,
      IdentityBuffer& scratch) const;
  std::optional<RowError> check_row(const Space& space,
                                    std::uint32_t template_index,
                                    const Row& row,
                                    IdentityBuffer& scratch) const;

  std::vector<Space> spaces_;
  std::vector<KeyTemplate> templates_;
  std::vector<Route> routes_;
  TemplateIndex index_;
};

}  // namespace cuckooguard::keyspace
