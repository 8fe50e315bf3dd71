// A YAML document as plain nodes with their places, strictly: one document, UTF-8, no anchors,
// aliases or tags, names as mapping keys, no key twice, bounded size and depth.
//
// Built from yaml-cpp's events rather than its nodes: events keep every place and every duplicate,
// and an alias can be refused before it expands. yaml-cpp's exceptions end here, as entries of the
// Report.
//
// Threads: free function without state. Limits: kFileBytesMax, kNestingMax, kNodesMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"

namespace cuckooguard::config {

inline constexpr std::size_t kFileBytesMax = 1024 * 1024;
inline constexpr std::size_t kNestingMax = 16;  // the deepest setting is at 4
inline constexpr std::size_t kNodesMax = 200'000;

struct Entry;

struct TreeNode {
  enum class Kind : std::uint8_t { null, scalar, list, mapping };
  Kind kind = Kind::null;
  Place place;
  std::string text;             // of a scalar
  bool quoted = false;          // a scalar in quotes, or a block: its first byte is not at `place`
  std::vector<TreeNode> items;  // of a list
  std::vector<Entry> entries;   // of a mapping, in the file's order
};

struct Entry {
  std::string key;
  Place place;  // of the key
  TreeNode value;
};

// The document's root; a null node for an empty document. nullopt: it is not YAML, or beyond a
// limit (and the report says so). Duplicate keys are reported, and left out.
std::optional<TreeNode> parse_tree(std::string_view yaml, Report& report);

// Whether a key or a word from the file may be shown in a message: short and made of letters,
// digits and `_-`.
bool looks_like_a_name(std::string_view text);

}  // namespace cuckooguard::config
