#include "keyspace/template_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace cuckooguard::keyspace {

struct TemplateIndex::Leaf {
  std::string_view literal;
  std::uint32_t index = 0;
  const KeyTemplate* source = nullptr;
};

TemplateIndex::TemplateIndex(std::span<const KeyTemplate> templates) {
  std::vector<Leaf> leaves;
  leaves.reserve(templates.size());
  for (std::uint32_t i = 0; i < templates.size(); ++i) {
    leaves.push_back({templates[i].literal_prefix(), i, &templates[i]});
  }
  root_ = add_trie(std::move(leaves), 0);
}

// `level` counts the placeholders between the key's begin and this trie's literals.
std::uint32_t TemplateIndex::add_trie(std::vector<Leaf> leaves, std::size_t level) {
  std::ranges::sort(leaves, {}, &Leaf::literal);
  const auto root = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  first_bytes_ += '\0';
  grow(root, leaves, level);
  return root;
}

// All leaves begin with the literal of `node_index` and are sorted.
void TemplateIndex::grow(std::uint32_t node_index, std::span<Leaf> leaves, std::size_t level) {
  const std::size_t depth = nodes_[node_index].literal_bytes;
  const auto has_more = [&](const Leaf& leaf) { return leaf.literal.size() > depth; };
  const auto ending =
      static_cast<std::size_t>(std::ranges::find_if(leaves, has_more) - leaves.begin());
  if (ending > 0) {
    add_group(node_index, leaves.first(ending), level);
  }
  leaves = leaves.subspan(ending);

  std::vector<std::span<Leaf>> families;  // one per child: leaves whose next byte is the same
  while (!leaves.empty()) {
    const char next = leaves[0].literal[depth];
    const auto differs = [&](const Leaf& leaf) { return leaf.literal[depth] != next; };
    const auto size =
        static_cast<std::size_t>(std::ranges::find_if(leaves, differs) - leaves.begin());
    families.push_back(leaves.first(size));
    leaves = leaves.subspan(size);
  }

  const auto first_child = static_cast<std::uint32_t>(nodes_.size());
  nodes_[node_index].children_begin = first_child;
  nodes_[node_index].children_count = static_cast<std::uint32_t>(families.size());
  const std::uint32_t shorter =
      nodes_[node_index].ends_literal ? node_index : nodes_[node_index].shorter;
  for (const std::span<Leaf> family : families) {
    // Sorted, so what the first and the last have in common, all have.
    const std::string_view low = family.front().literal;
    const std::string_view high = family.back().literal;
    const auto common =
        static_cast<std::size_t>(std::ranges::mismatch(low, high).in1 - low.begin());
    Node child;
    child.label_begin = static_cast<std::uint32_t>(labels_.size());
    child.label_bytes = static_cast<std::uint32_t>(common - depth);
    child.literal_bytes = static_cast<std::uint32_t>(common);
    child.shorter = shorter;
    labels_ += low.substr(depth, common - depth);
    first_bytes_ += low[depth];
    nodes_.push_back(child);
  }
  for (std::uint32_t i = 0; i < families.size(); ++i) {
    grow(first_child + i, families[i], level);
  }
}

// The templates whose literal ends at this node.
void TemplateIndex::add_group(std::uint32_t node_index, std::span<Leaf> leaves, std::size_t level) {
  nodes_[node_index].ends_literal = true;
  nodes_[node_index].direct_begin = static_cast<std::uint32_t>(direct_.size());
  std::vector<Leaf> behind_colon;
  for (const Leaf& leaf : leaves) {
    const std::span<const Placeholder> placeholders = leaf.source->placeholders();
    if (level < placeholders.size() && placeholders[level].literal_after.starts_with(':')) {
      behind_colon.push_back({placeholders[level].literal_after, leaf.index, leaf.source});
    } else {
      const std::string_view suffix = placeholders.back().literal_after;
      const std::size_t free_bytes =
          sizeof(std::uint64_t) - std::min(suffix.size(), sizeof(std::uint64_t));
      const std::uint64_t mask = suffix.empty() ? 0 : ~std::uint64_t{0} << (8 * free_bytes);
      direct_.push_back({leaf.index, tail_of(suffix) & mask, mask});
    }
  }
  nodes_[node_index].direct_count =
      static_cast<std::uint32_t>(direct_.size()) - nodes_[node_index].direct_begin;
  if (!behind_colon.empty()) {
    const std::uint32_t trie = add_trie(std::move(behind_colon), level + 1);
    nodes_[node_index].after_colon = trie;
  }
}

std::uint64_t TemplateIndex::tail_of(std::string_view text) noexcept {
  std::uint64_t tail = 0;
  if (text.size() >= sizeof(tail)) {
    std::memcpy(&tail, text.data() + text.size() - sizeof(tail), sizeof(tail));
    return std::endian::native == std::endian::little ? tail : __builtin_bswap64(tail);
  }
  for (const char c : text) {
    tail = (tail >> 8) | (std::uint64_t{static_cast<unsigned char>(c)} << 56);
  }
  return tail;
}

std::uint32_t TemplateIndex::child(const Node& node, char first) const noexcept {
  const char* const begin = first_bytes_.data() + node.children_begin;
  if (node.children_count == 1) {  // common, and not worth a call
    return *begin == first ? node.children_begin : kNone;
  }
  const void* const found =
      node.children_count == 0 ? nullptr : std::memchr(begin, first, node.children_count);
  if (found == nullptr) {
    return kNone;
  }
  return node.children_begin + static_cast<std::uint32_t>(static_cast<const char*>(found) - begin);
}

std::uint32_t TemplateIndex::deepest(std::uint32_t root, std::string_view text) const noexcept {
  if (root == kNone) {
    return kNone;
  }
  std::uint32_t at = root;
  while (true) {
    const Node& node = nodes_[at];
    const std::uint32_t here = node.ends_literal ? at : node.shorter;
    if (node.literal_bytes == text.size()) {
      return here;
    }
    const std::uint32_t next = child(node, text[node.literal_bytes]);
    if (next == kNone) {
      return here;
    }
    const Node& below = nodes_[next];
    const bool has_label =
        text.size() >= below.literal_bytes && std::memcmp(text.data() + node.literal_bytes,
                                                          labels_.data() + below.label_begin,
                                                          below.label_bytes) == 0;
    if (!has_label) {
      return here;
    }
    at = next;
  }
}

}  // namespace cuckooguard::keyspace
