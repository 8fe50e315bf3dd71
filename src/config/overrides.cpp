#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config/config_file.h"
#include "config/section.h"

namespace cuckooguard::config {
namespace {

void place_at(TreeNode& node, Place place) {
  node.place = place;
  for (TreeNode& item : node.items) {
    place_at(item, place);
  }
  for (Entry& entry : node.entries) {
    entry.place = place;
    place_at(entry.value, place);
  }
}

bool is_enclosed(std::string_view text) {
  if (text.size() < 2) {
    return false;
  }
  const char first = text.front();
  const char last = text.back();
  return (first == '[' && last == ']') || (first == '{' && last == '}') ||
         (first == last && (first == '"' || first == '\''));
}

std::optional<TreeNode> node_of(const std::string& value, Place place, Report& report) {
  TreeNode node{.kind = TreeNode::Kind::scalar, .text = value, .quoted = true};
  if (is_enclosed(value)) {
    Report inside("");
    auto parsed = parse_tree(value, inside);
    const std::vector<Diagnostic> wrong = std::move(inside).in_file_order();
    if (!parsed || !wrong.empty()) {
      report.add(place, wrong.empty() ? "cannot be read as YAML" : wrong.front().what);
      return std::nullopt;
    }
    node = std::move(*parsed);
  }
  place_at(node, place);
  return node;
}

// `upstream: host:port` as the mapping that it stands for, so that more can be said.
void lengthen(TreeNode& node, std::string_view section) {
  const auto list = std::ranges::find(all_sections(), section, &KeyList::section);
  if (node.kind != TreeNode::Kind::scalar || list == all_sections().end() ||
      list->short_form.empty()) {
    return;
  }
  const Place place = node.place;
  TreeNode address = std::exchange(node, {.kind = TreeNode::Kind::mapping, .place = place});
  node.entries.push_back({std::string(list->short_form), place, std::move(address)});
}

// The entry of this key; made if there is none.
Entry& entry_in(TreeNode& node, std::string_view key, Place place) {
  if (node.kind != TreeNode::Kind::mapping) {
    node = {.kind = TreeNode::Kind::mapping, .place = place};
  }
  const auto found = std::ranges::find(node.entries, key, &Entry::key);
  return found != node.entries.end()
             ? *found
             : node.entries.emplace_back(Entry{std::string(key), place, {}});
}

void apply(const Override& override, TreeNode& root, Report& report) {
  const Place place{.flag = report.add_flag(override.flag)};
  auto value = node_of(override.value, place, report);
  if (!value) {
    return;
  }
  TreeNode* node = &root;
  for (std::size_t at = 0; at <= override.path.size();) {
    const std::size_t dot = std::min(override.path.find('.', at), override.path.size());
    const std::string_view key = std::string_view(override.path).substr(at, dot - at);
    if (!looks_like_a_name(key)) {
      report.add(place, "needs the path of a key, such as limits.max_clients");
      return;
    }
    if (node->kind == TreeNode::Kind::list) {
      report.add(place,
                 fmt::format("{} is a list in the file: give the whole of it",
                             override.path.substr(0, at - 1)));
      return;
    }
    lengthen(*node, std::string_view(override.path).substr(0, at == 0 ? 0 : at - 1));
    Entry& entry = entry_in(*node, key, place);
    if (dot == override.path.size()) {
      entry.value = std::move(*value);
      return;
    }
    node = &entry.value;
    at = dot + 1;
  }
}

}  // namespace

void apply(std::span<const Override> overrides, TreeNode& root, Report& report) {
  for (const Override& override : overrides) {
    apply(override, root, report);
  }
}

}  // namespace cuckooguard::config
