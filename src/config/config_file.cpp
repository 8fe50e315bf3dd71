#include "config/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "config/read_config.h"
#include "config/section.h"
#include "text/ascii.h"

namespace cuckooguard::config {
namespace {

std::vector<Diagnostic> cannot_read(const std::string& path, int error_number) {
  return {
      {.file = path,
       .what = fmt::format("cannot be read: {}", std::generic_category().message(error_number))}};
}

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
      report.add(place, wrong.empty() ? "is not valid YAML" : wrong.front().what);
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
      report.add(place, "needs the path of a setting, such as limits.max_clients");
      return;
    }
    if (node->kind == TreeNode::Kind::list) {
      report.add(place,
                 "{} is a list in the file: override the whole list",
                 override.path.substr(0, at - 1));
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

std::expected<Config, std::vector<Diagnostic>> config_of(
    std::expected<EffectiveConfig, std::vector<Diagnostic>> effective) {
  if (!effective) {
    return std::unexpected(std::move(effective.error()));
  }
  return std::move(effective->config);
}

}  // namespace

EnvironmentLookup process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    // Read at start-up and on reload, by main's thread; nobody calls setenv.
    const char* const value =
        std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::optional<std::string> Built::refusal(std::string_view guest) const {
  if (std::ranges::count(without, guest) == 0) {
    return std::nullopt;
  }
  return fmt::format(
      "this build does not include {} (CUCKOOGUARD_WITH_{})", guest, text::upper_case(guest));
}

std::expected<EffectiveConfig, std::vector<Diagnostic>> parse_effective(
    std::string_view yaml,
    std::string file_name,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides,
    const Built& built) {
  Report report(std::move(file_name));
  EffectiveConfig effective;
  if (std::optional<TreeNode> root = parse_tree(yaml, report)) {
    apply(overrides, *root, report);
    effective.config = read_config(*root, environment, built, effective.settings, report);
  }
  if (!report.empty()) {
    return std::unexpected(std::move(report).in_file_order());
  }
  effective.warnings = std::move(report).warnings();
  return effective;
}

std::expected<EffectiveConfig, std::vector<Diagnostic>> load_effective(
    const std::string& path,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides,
    const Built& built) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::unexpected(cannot_read(path, errno));
  }
  std::string text(kFileBytesMax + 1,
                   '\0');  // one more than is allowed, so that parse_config sees it
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return std::unexpected(cannot_read(path, errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_effective(text, path, environment, overrides, built);
}

std::expected<Config, std::vector<Diagnostic>> parse_config(std::string_view yaml,
                                                            std::string file_name,
                                                            const EnvironmentLookup& environment,
                                                            const Built& built) {
  return config_of(parse_effective(yaml, std::move(file_name), environment, {}, built));
}

std::expected<Config, std::vector<Diagnostic>> load_config(const std::string& path,
                                                           const EnvironmentLookup& environment,
                                                           std::span<const Override> overrides,
                                                           const Built& built) {
  return config_of(load_effective(path, environment, overrides, built));
}

void apply(std::span<const Override> overrides, TreeNode& root, Report& report) {
  for (const Override& override : overrides) {
    apply(override, root, report);
  }
}

}  // namespace cuckooguard::config
