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
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

class TemplateIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  TemplateIndex() = default;
  explicit TemplateIndex(std::span<const KeyTemplate> templates);

  // The node of the longest literal prefix of `key` that some template has, or kNone.
  std::uint32_t longest(std::string_view key) const noexcept { return deepest(root_, key); }
  // The node of the next shorter prefix, or kNone.
  std::uint32_t shorter(std::uint32_t node) const noexcept { return nodes_[node].shorter; }

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
    std::uint64_t tail =
        0;  // the end of its last literal, under `tail_mask`: what no key of it can do without
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
};

}  // namespace cuckooguard::keyspace
