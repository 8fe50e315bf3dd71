#include "config/section.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/environment.h"
#include "config/nearest.h"
#include "keyspace/printable.h"

namespace cuckooguard::config {
namespace {

std::string place_text(const KeyList& keys) {
  return keys.section.empty() ? "the top level" : std::string(keys.section);
}

// A key that is right, but not here.
std::optional<std::string_view> section_with(std::string_view key) {
  for (const KeyList& other : schema::kAll) {
    if (std::ranges::count(other.keys, key) > 0) {
      return other.section;
    }
  }
  return std::nullopt;
}

// What may hold a user and password, such as a URL, is not shown.
std::string shown(std::string_view raw) {
  const bool may_hold_secret = raw.find('@') != std::string_view::npos;
  return may_hold_secret ? "the value" : keyspace::printable(raw);
}

}  // namespace

Place ListItem::at(std::size_t offset) const {
  return first_byte ? Place{first_byte->line, first_byte->column + static_cast<int>(offset)}
                    : place;
}

Section::Section(const Reading& reading, const Entry& entry, const KeyList& keys)
    : reading_(reading), section_(&entry), keys_(keys) {
  const TreeNode::Kind kind = entry.value.kind;
  if (kind != TreeNode::Kind::mapping && kind != TreeNode::Kind::null) {
    reading_.report.add(
        entry.value.place,
        fmt::format("{} must hold keys with values", place_text(keys)) + suggestion("", keys.keys));
  }
  for (const Entry& inside : entry.value.entries) {
    if (std::ranges::count(keys_.keys, inside.key) == 0) {
      report_unknown(inside);
    }
  }
}

void Section::report_unknown(const Entry& entry) const {
  const bool may_show = !keys_.may_hold_secrets && looks_like_a_name(entry.key);
  std::string what = may_show ? fmt::format("unknown key {}", entry.key) : "unknown key";
  const auto elsewhere = section_with(entry.key);
  if (elsewhere && !nearest(entry.key, keys_.keys)) {
    what += fmt::format(" in {}; it belongs in {}",
                        place_text(keys_),
                        elsewhere->empty() ? "the top level" : *elsewhere);
  } else {
    what += suggestion(entry.key, keys_.keys);
  }
  reading_.report.add(entry.place, std::move(what));
}

const Entry* Section::find(std::string_view key) const {
  const auto found = std::ranges::find(section_->value.entries, key, &Entry::key);
  return found == section_->value.entries.end() ? nullptr : &*found;
}

const Entry* Section::require(std::string_view key) const {
  const Entry* const entry = find(key);
  if (entry == nullptr) {
    reading_.report.add(section_->place, fmt::format("{} is missing here", key));
  }
  return entry;
}

Place Section::place_of(std::string_view key) const {
  const Entry* const entry = find(key);
  return entry == nullptr ? section_->place : entry->value.place;
}

void Section::read_text(std::string_view key, std::string& out) const {
  read(key, out, [](std::string_view text) -> Parsed<std::string> { return std::string(text); });
}

std::vector<ListItem> Section::read_list(std::string_view key, EmptyList empty) const {
  std::vector<ListItem> texts;
  const Entry* const entry = find(key);
  if (entry == nullptr) {
    return texts;
  }
  const bool is_list = entry->value.kind == TreeNode::Kind::list;
  const std::span<const TreeNode> nodes =
      is_list ? std::span<const TreeNode>(entry->value.items) : std::span(&entry->value, 1);
  if (nodes.empty() && empty == EmptyList::is_wrong) {
    reading_.report.add(entry->value.place, fmt::format("{}: the list is empty", key));
  }
  for (const TreeNode& node : nodes) {
    if (auto text = expanded(*entry, node)) {
      std::optional<Place> first_byte;
      if (*text == node.text) {
        first_byte = Place{node.place.line, node.place.column + (node.quoted ? 1 : 0)};
      }
      texts.push_back({std::move(*text), node.place, first_byte});
    }
  }
  return texts;
}

std::optional<std::string> Section::scalar(const Entry& entry) const {
  return expanded(entry, entry.value);
}

std::optional<std::string> Section::expanded(const Entry& named, const TreeNode& value) const {
  if (value.kind != TreeNode::Kind::scalar) {
    const std::string_view what = value.kind == TreeNode::Kind::null
                                      ? "has no value; leave it out or give it one"
                                      : "must be one value";
    reading_.report.add(value.place, fmt::format("{} {}", named.key, what));
    return std::nullopt;
  }
  Parsed<std::string> text = expand(value.text, reading_.environment);
  if (!text) {
    reading_.report.add(value.place, fmt::format("{} {}", named.key, text.error()));
    return std::nullopt;
  }
  return std::move(*text);
}

void Section::report(const Entry& entry, std::string_view what) const {
  const std::string value = keys_.may_hold_secrets ? "the value" : shown(entry.value.text);
  reading_.report.add(entry.value.place, fmt::format("{}: {} {}", entry.key, value, what));
}

}  // namespace cuckooguard::config
