// All namespaces' key templates together: key -> (namespace, identity), and row -> identity.
//
// The identity is what the filter stores. If a namespace has one placeholder, it is the bytes of
// the value (a view of the key, nothing is copied). Otherwise it is every value but the last, each
// after its length (4 bytes, little endian), and then the last one raw: two different tuples never
// give the same bytes. `|ci` and `:uuid` values are folded (ASCII case, trailing spaces); a row's
// `:numeric` is without the zeros of its scale.
//
// A row can have a key that another template claims (`page:{slug}` and `page:draft:{id}`: the row
// `draft:42`). So a key may belong to rows of several namespaces: match() returns the one that
// claims it, makers_of() the other templates by which rows can have it, and read() the identity
// under each. A row with a text for an integer, which therefore has a key that another namespace
// claims (`user:{id:uint64}` and `user:vip:{id}`: the row `vip:7`), is an error: text_makers_of()
// returns the namespaces that must be known to have no such row.
//
// Must: a row that identity_of_row() accepts has, for each of its keys, the very identity that
//       match() gives, or that read() gives for one of the makers; or it is isolated, and its
//       pattern matches that. Others are errors. (tests/keyspace)
// Threads: immutable after build; const calls may run together, each thread with its own
// IdentityBuffer.
// Lifetimes: an identity views the key, the row's values or the IdentityBuffer: it is valid until
// any of them changes.
// Errors: values. Calling with a namespace or a number of values that does not exist is a
// programming error (throws).
// Limits: keys above kKeyBytesMax are unguarded; kNamespacesMax namespaces, kTemplatesMax
// templates.
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

#include "keyspace/identity.h"
#include "keyspace/identity_pattern.h"
#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

// Finds the templates whose shape a key can have, longest literal prefix first, in a few memory
// accesses however many templates there are.
//
// A compressed trie over the literal prefixes. Templates with the same prefix form a group; those
// whose first placeholder ends at a ':' are found through a second trie over the literal that
// begins with it, and so on per placeholder, so that `{tenant}:user:{id}` and two hundred
// neighbours cost as little as one template. It only leaves out templates that cannot fit;
// KeyTemplate::fit has the last word.
//
// Threads: immutable after construction.
class TemplateIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  TemplateIndex() = default;
  explicit TemplateIndex(std::span<const KeyTemplate> templates);

  // The node of the longest literal prefix of `key` that some template has, or kNone.
  std::uint32_t longest(std::string_view key) const noexcept { return deepest(root_, key); }
  // The node of the next shorter prefix, or kNone.
  std::uint32_t shorter(std::uint32_t node) const noexcept { return nodes_[node].shorter; }

  // No other template may fit a key that begins with this one's literal prefix, unless with a
  // shorter one.
  bool is_alone(std::uint32_t template_index) const noexcept { return alone_[template_index]; }

  // Calls visit(template index) for each template of the node that may fit `key`; ends early when
  // visit returns true, and says whether it did.
  template <typename Visit>
  bool visit_candidates(std::uint32_t node, std::string_view key, Visit visit) const {
    return visit_group(node, key, tail_of(key), visit);
  }

 private:
  struct Node {
    std::uint32_t label_begin = 0;  // in labels_: what this node adds to its parent's literal
    std::uint32_t label_bytes = 0;
    std::uint32_t literal_bytes = 0;  // from the trie's root to here
    std::uint32_t children_begin = 0;
    std::uint32_t children_count = 0;
    std::uint32_t shorter = kNone;  // nearest node above that ends a literal
    std::uint32_t direct_begin = 0;
    std::uint32_t direct_count = 0;
    std::uint32_t after_colon = kNone;  // root of the trie behind the next placeholder
    bool ends_literal = false;
  };
  struct Candidate {
    std::uint32_t index = 0;  // of the template
    // The end of its last literal, under `tail_mask`: no key of it can do without.
    std::uint64_t tail = 0;
    std::uint64_t tail_mask = 0;
  };
  struct Leaf;  // building: a template and the literal it is filed under

  std::uint32_t add_trie(std::vector<Leaf> leaves, std::size_t level);
  void grow(std::uint32_t node, std::span<Leaf> leaves, std::size_t level);
  void add_group(std::uint32_t node, std::span<Leaf> leaves, std::size_t level);

  std::uint32_t deepest(std::uint32_t root, std::string_view text) const noexcept;
  std::uint32_t child(const Node& node, char first) const noexcept;

  // The last eight bytes, the last one in the highest place; 0 where there are fewer.
  static std::uint64_t tail_of(std::string_view text) noexcept;

  // `text` begins with the literal of `node`, and ends as the key whose end is `tail`.
  template <typename Visit>
  bool visit_group(std::uint32_t node_index,
                   std::string_view text,
                   std::uint64_t tail,
                   Visit& visit) const {
    const Node& node = nodes_[node_index];
    for (std::uint32_t i = 0; i < node.direct_count; ++i) {
      const Candidate& candidate = direct_[node.direct_begin + i];
      if ((tail & candidate.tail_mask) == candidate.tail && visit(candidate.index)) {
        return true;
      }
    }
    if (node.after_colon == kNone) {
      return false;
    }
    text.remove_prefix(node.literal_bytes);
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(colon);
    std::uint32_t next = deepest(node.after_colon, text);
    for (; next != kNone; next = nodes_[next].shorter) {
      if (visit_group(next, text, tail, visit)) {
        return true;
      }
    }
    return false;
  }

  std::uint32_t root_ = kNone;
  std::vector<Node> nodes_;
  std::string
      first_bytes_;  // of each node's label, beside nodes_: a node's children are neighbours
  std::string labels_;
  std::vector<Candidate> direct_;
  std::vector<bool> alone_;  // by template
};

inline constexpr std::size_t kNamespacesMax = 1024;
inline constexpr std::size_t kTemplatesMax = 4096;

struct NamespaceTemplates {
  std::string name;
  std::vector<KeyTemplate> templates;
  // A value that is no canonical integer cannot exist: it is absent unless a row has it.
  bool canonical_keys = false;
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
    impossible,  // a key of namespace `ns`, whose keys are canonical, that no row can have
  };
  Kind kind = Kind::unguarded;
  std::uint32_t ns = 0;
  std::uint32_t template_index = 0;  // of all
  std::string_view identity;  // an impossible key has one, too: a row's column may be no integer
  std::optional<std::uint64_t> number;  // the identity, where it is one integer from 0
};

// What a row would be that has a key by one template.
struct Reading {
  enum class Kind : std::uint8_t { none, sure, unsure };  // none: no row has it
  Kind kind = Kind::none;
  std::uint32_t ns = 0;
  std::string_view identity{};  // if sure
  std::optional<std::uint64_t> number{};
  bool may_be_any_isolated = false;  // a row's key may have a ':' that |ci takes for it, or a date
                                     // in another spelling: patterns say nothing
};

struct RowIdentity {
  std::string_view identity;
  std::optional<std::uint64_t> number;
  // Look-ups of other identities may mean it, too: those of Keyspace::pattern_of_row().
  bool is_isolated = false;
};

struct RowError {
  enum class Reason : std::uint8_t {
    does_not_parse_back,  // another spelling of its key, or another value for a {_}, could be read
                          // as another row
    other_namespace,      // a template claims its key that is not known to share keys with this one
    other_identity,       // its keys carry too many different values
  };
  Reason reason;
  std::size_t template_index;
  std::string what;  // names the row (values escaped and cut), the template and the reason
};

// Of which rows of a template others may claim the keys.
enum class Loss : std::uint8_t {
  none,
  any,
  texts,  // of those alone that have a text for an integer, which are errors then
};

class Keyspace {
 public:
  // Every error at once, in the order of namespaces and templates. Two templates that can both
  // match one key and have equally long literal prefixes are an error; so is a longer prefix inside
  // a template with |ci, :uuid and the like, since another spelling of the same value would be
  // another namespace's key.
  static std::expected<Keyspace, std::vector<KeyspaceError>> build(
      std::vector<NamespaceTemplates> namespaces);

  // The template with the longest literal prefix wins among those whose shape the key has; but what
  // a namespace with canonical keys cannot have is left to shorter prefixes.
  Lookup match(std::string_view key, IdentityBuffer& scratch) const noexcept;

  // The templates, but the one that claims the key, by which a row can have such a key: usually
  // none.
  std::span<const std::uint32_t> makers_of(const Lookup& found) const noexcept {
    const Route& route = routes_[found.template_index];
    return std::span(makers_).subspan(route.makers_begin, route.makers_count);
  }
  // Those of other namespaces by which only a text for an integer can have it.
  std::span<const std::uint32_t> text_makers_of(const Lookup& found) const noexcept {
    const Route& route = routes_[found.template_index];
    return std::span(makers_).subspan(route.makers_begin + route.makers_count,
                                      route.text_makers_count);
  }
  // Whether there are any of either.
  bool may_share(const Lookup& found) const noexcept {
    const Route& route = routes_[found.template_index];
    return route.makers_count + route.text_makers_count != 0;
  }
  std::uint32_t namespace_of(std::uint32_t template_index) const noexcept {
    return routes_[template_index].ns;
  }
  const KeyTemplate& template_at(std::uint32_t template_index) const noexcept {
    return templates_[template_index];
  }
  // Where a value is no key's (it is empty, or has a ':'), one of several has no certain end: the
  // identity is then the key itself, under |ci folded and without spaces.
  Reading read(std::uint32_t template_index,
               std::string_view key,
               IdentityBuffer& scratch) const noexcept;
  Loss loss(std::uint32_t ns, std::size_t template_index) const {
    return routes_[spaces_.at(ns).templates_begin + template_index].loss;
  }

  // `values` in the order of identity_columns(ns), nullopt for NULL. No value in the result: the
  // row has no key that is judged, since one of its values is NULL, has a letter that no printable
  // ASCII is equal to, or is one that :numeric or :date cannot have (NaN, infinity), or since its
  // key is unguarded (a ':' in a value, for example). For a row whose key carries other values it
  // is those.
  std::expected<std::optional<RowIdentity>, RowError> identity_of_row(
      std::uint32_t ns,
      std::span<const std::optional<std::string_view>> values,
      IdentityBuffer& scratch) const;

  // Of a row that is isolated.
  IdentityPattern pattern_of_row(std::uint32_t ns,
                                 std::span<const std::optional<std::string_view>> values) const;
  // Names a row in words: `row name="\xc3\xa9"`.
  std::string row_text(std::uint32_t ns,
                       std::span<const std::optional<std::string_view>> values) const;

  std::size_t size() const { return spaces_.size(); }
  const std::string& name(std::uint32_t ns) const { return spaces_.at(ns).name; }
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::span<const KeyTemplate> templates(std::uint32_t ns) const;
  // Placeholder names in identity order: the first template's, wildcards left out.
  std::span<const std::string> identity_columns(std::uint32_t ns) const {
    return spaces_.at(ns).columns;
  }
  // Whether the identity is one integer, so that Lookup::number and `fresh_ids` make sense.
  bool identity_is_integer(std::uint32_t ns) const { return spaces_.at(ns).is_integer; }

 private:
  struct Space {
    std::string name;
    std::vector<std::string> columns;
    std::vector<ValueType> types;  // of the columns
    std::uint32_t templates_begin = 0;
    std::uint32_t templates_count = 0;
    bool canonical_keys = false;
    bool is_integer = false;
    bool is_all_of_keys = false;  // and nothing else is in any key
    bool has_folded = false;
    bool has_own_type = false;
    bool may_split = false;  // IdentityPattern::of()
  };
  struct Route {  // beside each template: whose it is, and where the identity's values are
    std::uint32_t ns = 0;
    bool is_alone = false;   // TemplateIndex::is_alone()
    bool is_in_key = false;  // the identity is one value, as the key has it
    std::array<std::uint8_t, kPlaceholdersMax> placeholder_of{};  // per identity column
    Loss loss = Loss::none;
    std::uint32_t makers_begin = 0;
    std::uint32_t makers_count = 0;
    std::uint32_t text_makers_count = 0;  // behind those
  };
  using Texts = std::array<std::string_view, kPlaceholdersMax>;  // in identity order
  struct Row;                                                    // keyspace_rows.cpp

  Keyspace() = default;
  void add_space(NamespaceTemplates from);
  void find_makers();
  void claim(std::uint32_t template_index,
             std::string_view key,
             const TemplateValues& values,
             IdentityBuffer& scratch,
             Lookup& result) const noexcept;
  std::string_view identity_in_key(const Route& route,
                                   std::string_view key,
                                   const TemplateValues& values,
                                   IdentityBuffer& scratch) const noexcept;
  bool take_values(Row& row, std::span<const std::optional<std::string_view>> values) const;
  std::optional<RowError> add_identities(Row& row, IdentityBuffer& scratch) const;
  std::optional<RowError> add_key(Row& row,
                                  const Texts& texts,
                                  std::uint32_t index,
                                  IdentityBuffer& scratch) const;
  bool is_read_by(std::uint32_t template_index,
                  std::string_view key,
                  IdentityBuffer& scratch) const;

  std::vector<Space> spaces_;
  std::vector<KeyTemplate> templates_;
  std::vector<Route> routes_;
  std::vector<std::uint32_t> makers_;
  TemplateIndex index_;
};

// What must hold between the templates of a namespace, and between those of different namespaces,
// before a Keyspace can be built of them. Called by Keyspace::build alone.
// Every error, in the order of namespaces and templates; none: they can be used together.
std::vector<KeyspaceError> check_namespaces(std::span<const NamespaceTemplates> namespaces);

}  // namespace cuckooguard::keyspace
