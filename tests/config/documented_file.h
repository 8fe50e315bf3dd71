// config/cuckooguard.yaml as tests take it to pieces.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config::testing {

inline std::string path_of(const std::string& file) {
  return std::string(CUCKOOGUARD_CONFIG_FOLDER) + "/" + file;
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// A setting that is switched off: `#` and no space behind it.
inline bool is_switched_off(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(' ');
  return hash != std::string::npos && line[hash] == '#' && hash + 1 < line.size() &&
         line[hash + 1] != ' ';
}

inline bool is_explanation(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(' ');
  return hash != std::string::npos && line[hash] == '#' && !is_switched_off(line);
}

// cuckooguard.yaml with every setting switched on, as its head says.
inline std::vector<std::string> switched_on() {
  std::vector<std::string> lines = lines_of(path_of("cuckooguard.yaml"));
  for (std::string& line : lines) {
    if (is_switched_off(line)) {
      line.erase(line.find('#'), 1);
    }
  }
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

// Nodes under `at` that the path of a section leads to; `*` is every name.
inline std::vector<const TreeNode*> sections_at(const TreeNode& at, std::string_view path) {
  if (path.empty()) {
    return {&at};
  }
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view step = path.substr(0, dot);
  const std::string_view rest = path.substr(std::min(dot + 1, path.size()));
  std::vector<const TreeNode*> found;
  for (const Entry& entry : at.entries) {
    if (step == "*" || step == entry.key) {
      std::ranges::copy(sections_at(entry.value, rest), std::back_inserter(found));
    }
  }
  return found;
}

inline const Entry* entry_of(const TreeNode& node, std::string_view key) {
  const auto found = std::ranges::find(node.entries, key, &Entry::key);
  return found == node.entries.end() ? nullptr : &*found;
}

// The settings called `key` in the sections of this list.
inline std::vector<const Entry*> settings(const TreeNode& root,
                                          const KeyList& list,
                                          std::string_view key) {
  constexpr std::string_view kOfType = " of type ";
  const std::size_t end = std::min(list.section.find(kOfType), list.section.size());
  const std::string_view type =
      end < list.section.size() ? list.section.substr(end + kOfType.size()) : "";
  std::vector<const Entry*> found;
  for (const TreeNode* const section : sections_at(root, list.section.substr(0, end))) {
    const Entry* const its_type = entry_of(*section, "type");
    const Entry* const entry = entry_of(*section, key);
    if (entry != nullptr &&
        (type.empty() || (its_type != nullptr && its_type->value.text == type))) {
      found.push_back(entry);
    }
  }
  return found;
}

}  // namespace cuckooguard::config::testing
