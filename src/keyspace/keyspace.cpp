#include "keyspace/keyspace.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "keyspace/overlap.h"

namespace cuckooguard::keyspace {
namespace {

// What the templates said about a key so far.
struct Findings {
  bool whole = false;
  std::uint32_t template_index = 0;  // if whole
  bool not_sure = false;
  std::optional<std::uint32_t> impossible_by;  // a template of canonical keys that says so
};

}  // namespace

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
  alone_.resize(templates.size());
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
  if (const Node& node = nodes_[node_index]; level == 0 && ending == leaves.size() &&
                                             node.direct_count == 1 && node.after_colon == kNone) {
    alone_[direct_[node.direct_begin].index] = true;
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
  result.find_makers();
  result.index_ = TemplateIndex(result.templates_);
  for (std::uint32_t i = 0; i < result.routes_.size(); ++i) {
    result.routes_[i].is_alone = result.index_.is_alone(i);
  }
  return result;
}

void Keyspace::add_space(NamespaceTemplates from) {
  Space space;
  space.name = std::move(from.name);
  space.canonical_keys = from.canonical_keys;
  space.templates_begin = static_cast<std::uint32_t>(templates_.size());
  space.templates_count = static_cast<std::uint32_t>(from.templates.size());
  for (const Placeholder& placeholder : from.templates[0].placeholders()) {
    if (!placeholder.wildcard) {
      space.columns.push_back(placeholder.name);
      space.types.push_back(placeholder.type);
    }
  }
  space.is_integer = space.types.size() == 1 &&
                     (space.types[0] == ValueType::uint64 || space.types[0] == ValueType::int64);
  space.is_all_of_keys =
      space.is_integer && std::ranges::all_of(from.templates, [](const KeyTemplate& key_template) {
        return key_template.placeholders().size() == 1;
      });
  space.has_folded = std::ranges::any_of(space.types, is_folded);
  space.has_own_type = std::ranges::any_of(space.types, is_of_own_type);
  for (KeyTemplate& key_template : from.templates) {
    Route route{.ns = static_cast<std::uint32_t>(spaces_.size())};
    const std::span<const Placeholder> placeholders = key_template.placeholders();
    for (std::size_t column = 0; column < space.columns.size(); ++column) {
      const auto at = std::ranges::find(placeholders, space.columns[column], &Placeholder::name);
      route.placeholder_of[column] = static_cast<std::uint8_t>(at - placeholders.begin());
    }
    const auto before_last = placeholders.first(placeholders.size() - 1);
    space.may_split =
        space.may_split || (placeholders.back().rest &&
                            std::ranges::any_of(before_last, is_folded, &Placeholder::type));
    route.is_in_key = space.types.size() == 1 && !space.has_folded;
    routes_.push_back(route);
    templates_.push_back(std::move(key_template));
  }
  spaces_.push_back(std::move(space));
}

void Keyspace::find_makers() {
  std::vector<std::optional<KeyTemplate>> with_texts;
  std::ranges::transform(templates_, std::back_inserter(with_texts), &KeyTemplate::with_texts);
  for (std::uint32_t claimer = 0; claimer < templates_.size(); ++claimer) {
    Route& route = routes_[claimer];
    const auto may_make = [&](const KeyTemplate& maker) {
      return may_make_keys_of(maker, templates_[claimer], spaces_[route.ns].canonical_keys);
    };
    std::vector<std::uint32_t> by_text;
    route.makers_begin = static_cast<std::uint32_t>(makers_.size());
    for (std::uint32_t maker = 0; maker < templates_.size(); ++maker) {
      Route& from = routes_[maker];
      const std::optional<KeyTemplate>& with_text = with_texts[maker];
      if (maker != claimer && may_make(templates_[maker])) {
        makers_.push_back(maker);
        from.loss = Loss::any;
        ++route.makers_count;
      } else if (from.ns != route.ns && with_text && may_make(*with_text)) {
        by_text.push_back(maker);
        from.loss = from.loss == Loss::none ? Loss::texts : from.loss;
      }
    }
    makers_.insert(makers_.end(), by_text.begin(), by_text.end());
    route.text_makers_count = static_cast<std::uint32_t>(by_text.size());
  }
}

std::optional<std::uint32_t> Keyspace::find(std::string_view name) const {
  const auto found = std::ranges::find(spaces_, name, &Space::name);
  return found == spaces_.end()
             ? std::nullopt
             : std::optional(static_cast<std::uint32_t>(found - spaces_.begin()));
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
  if (const std::uint32_t likely = scratch.likely_template;
      likely < templates_.size() && routes_[likely].is_alone &&
      templates_[likely].fit(key, values) == TemplateFit::whole) {
    claim(likely, key, values, scratch, result);
    return result;
  }
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
        if (!spaces_[route.ns].canonical_keys) {
          found.not_sure = true;
        } else if (!found.impossible_by) {
          found.impossible_by = template_index;
        }
        break;
      case TemplateFit::uncertain:
        found.not_sure = true;
        break;
    }
    return found
        .whole;  // no other template with this prefix length can match: build() has made sure
  };
  // A template of canonical keys leaves what cannot be its own to shorter prefixes.
  for (std::uint32_t node = index_.longest(key);
       node != TemplateIndex::kNone && !found.whole && !found.not_sure;
       node = index_.shorter(node)) {
    index_.visit_candidates(node, key, try_template);
  }
  if (!found.whole) {
    if (!found.impossible_by || found.not_sure) {
      return result;
    }
    found.template_index = *found.impossible_by;
    templates_[found.template_index].fit_behind_prefix(key, values);
  }
  scratch.likely_template = found.template_index;
  claim(found.template_index, key, values, scratch, result);
  if (!found.whole) {
    result.kind = Lookup::Kind::impossible;
    result.number.reset();
  }
  return result;
}

void Keyspace::claim(std::uint32_t template_index,
                     std::string_view key,
                     const TemplateValues& values,
                     IdentityBuffer& scratch,
                     Lookup& result) const noexcept {
  const Route& route = routes_[template_index];
  const Space& space = spaces_[route.ns];
  result.kind = Lookup::Kind::guarded;
  result.ns = route.ns;
  result.template_index = template_index;
  result.identity = route.is_in_key ? values.text(key, route.placeholder_of[0])
                                    : identity_in_key(route, key, values, scratch);
  if (space.is_integer && values.has_number) {
    result.number.emplace(values.number);
  }
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
  Texts identity_values;
  for (std::size_t column = 0; column < types.size(); ++column) {
    identity_values[column] = values.text(key, route.placeholder_of[column]);
  }
  return write_identity({identity_values.data(), types.size()}, types, scratch.identity());
}

Reading Keyspace::read(std::uint32_t template_index,
                       std::string_view key,
                       IdentityBuffer& scratch) const noexcept {
  const KeyTemplate& key_template = templates_[template_index];
  const Route& route = routes_[template_index];
  const Space& space = spaces_[route.ns];
  Reading result{.ns = route.ns};
  if (!key_template.may_have_made(key)) {
    return result;
  }
  result.may_be_any_isolated =
      (space.has_folded || space.has_own_type) && key_template.placeholders().size() > 1;
  TemplateValues values;
  const TemplateFit fit = key_template.read(key, values);
  if (fit == TemplateFit::uncertain ||
      (fit == TemplateFit::none && space.has_folded && !is_printable_ascii(key))) {
    result.kind = Reading::Kind::unsure;
    return result;
  }
  result.kind = Reading::Kind::sure;
  if (fit == TemplateFit::none) {
    result.identity = write_key_identity(key, space.has_folded, scratch.identity());
    return result;
  }
  result.identity = identity_in_key(route, key, values, scratch);
  if (space.is_integer && values.has_number) {
    result.number = values.number;
  }
  return result;
}

}  // namespace cuckooguard::keyspace
