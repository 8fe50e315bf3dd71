#include "config/section.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/nearest.h"
#include "text/try.h"

namespace cuckooguard::config {
namespace {

std::string place_text(const KeyList& keys) {
  return keys.section.empty() ? "the top level" : std::string(keys.section);
}

// A key that is right, but not here. Where several types have it: `sources.*`, without a type.
std::optional<std::string_view> section_with(std::string_view key) {
  const auto untyped = [](std::string_view section) {
    return section.substr(0, section.find(" of type "));
  };
  std::optional<std::string_view> found;
  for (const KeyList& other : all_sections()) {
    if (std::ranges::count(other.keys, key) > 0) {
      if (found && untyped(*found) == untyped(other.section)) {
        return untyped(*found);
      }
      found = found.value_or(other.section);
    }
  }
  return found;
}

// `${NAME}` alone.
bool is_variable(std::string_view raw) {
  return raw.starts_with("${") && raw.ends_with('}') &&
         looks_like_a_name(raw.substr(2, raw.size() - 3));
}

// What stands between `${` and `}`.
Parsed<std::string> value_of(std::string_view inside, const EnvironmentLookup& environment) {
  const std::size_t name_end = std::min(inside.find(":-"), inside.size());
  const std::string_view name = inside.substr(0, name_end);
  if (!looks_like_a_name(name)) {
    return std::unexpected("has a ${...} that does not name a variable; write a literal ${ as $${");
  }
  const std::optional<std::string> value = environment(name);
  if (value && !value->empty()) {
    return *value;
  }
  if (name_end < inside.size()) {
    return std::string(inside.substr(name_end + 2));
  }
  if (!value) {
    return std::unexpected(
        fmt::format("needs the environment variable {0}, which is not set; set it, or give a "
                    "default: ${{{0}:-text}}",
                    name));
  }
  return std::string();
}

}  // namespace

Place ListItem::at(std::size_t offset) const {
  if (!first_byte) {
    return place;
  }
  Place byte = *first_byte;
  byte.column += static_cast<int>(offset);
  return byte;
}

Section::Section(const Reading& reading, const Entry& entry, const KeyList& keys)
    : Section(reading, &entry, entry.place, keys) {
  // The whole file is the settings themselves.
  if (reading_.settings != nullptr && !entry.key.empty()) {
    reading_.settings = &reading_.settings->add_mapping(entry.key);
  }
}

Section::Section(const Reading& reading, const Entry* entry, Place place, const KeyList& keys)
    : reading_(reading), section_(entry), place_(place), keys_(keys) {
  if (entry == nullptr) {
    return;
  }
  const TreeNode::Kind kind = entry->value.kind;
  const bool is_short = kind == TreeNode::Kind::scalar && !keys_.short_form.empty();
  if (kind != TreeNode::Kind::mapping && kind != TreeNode::Kind::null && !is_short) {
    reading_.report.add(entry->value.place,
                        fmt::format("{} must be a mapping of keys to values", place_text(keys)) +
                            suggestion("", keys.keys));
  }
  for (const Entry& inside : entry->value.entries) {
    if (std::ranges::count(keys_.keys, inside.key) == 0) {
      report_unknown(inside);
    }
  }
}

Section Section::inside(std::string_view key, const KeyList& keys) const {
  const Entry* const entry = find(key);
  return {reading_inside(key), entry, entry == nullptr ? place_ : entry->place, keys};
}

bool Section::is_list(std::string_view key) const {
  const Entry* const entry = find(key);
  return entry != nullptr && entry->value.kind == TreeNode::Kind::list;
}

void Section::for_each_inside(std::string_view key,
                              std::size_t most,
                              const KeyList& keys,
                              const std::function<void(const Section&)>& visit) const {
  const Reading list = reading_inside(key);
  const Entry& entry = *find(key);
  const std::size_t count = entry.value.items.size();
  if (count == 0 || count > most) {
    reading_.report.add(entry.value.place,
                        count == 0
                            ? fmt::format("{}: the list is empty", key)
                            : fmt::format("{}: the list can have at most {} entries", key, most));
    return;
  }
  for (const TreeNode& item : entry.value.items) {
    const Entry one{.key = entry.key, .place = item.place, .value = item};
    Reading reading = list;
    if (reading.settings != nullptr) {
      reading.settings = &reading.settings->add_item();
    }
    visit(Section(reading, &one, one.place, keys));
  }
}

std::span<const Entry> Section::named_entries(std::string_view key) const {
  const Entry* const entry = find(key);
  if (entry == nullptr || entry->value.kind == TreeNode::Kind::null) {
    return {};
  }
  if (entry->value.kind != TreeNode::Kind::mapping) {
    report(entry->value.place, fmt::format("{} must be a mapping of names to their settings", key));
    return {};
  }
  for (const Entry& named : entry->value.entries) {
    if (!looks_like_a_name(named.key)) {
      report(named.place,
             fmt::format("a name in {} must have 1 to 64 letters, digits, '_' and '-'", key));
    }
  }
  return entry->value.entries;
}

Reading Section::reading_inside(std::string_view key) const {
  Reading reading = reading_;
  if (reading.settings != nullptr) {
    reading.settings = &reading.settings->add_mapping(key);
  }
  return reading;
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
  if (section_ == nullptr) {
    return nullptr;
  }
  if (key == keys_.short_form && section_->value.kind == TreeNode::Kind::scalar) {
    return section_;
  }
  const auto found = std::ranges::find(section_->value.entries, key, &Entry::key);
  return found == section_->value.entries.end() ? nullptr : &*found;
}

const Entry* Section::require(std::string_view key) const {
  const Entry* const entry = find(key);
  if (is_left_out(key)) {
    reading_.report.add(place_, "{} is missing", key);
  }
  return entry;
}

bool Section::is_left_out(std::string_view key) const {
  const auto is_meant = [&](const Entry& entry) {
    return std::ranges::count(keys_.keys, entry.key) == 0 && nearest(entry.key, keys_.keys) == key;
  };
  return find(key) == nullptr &&
         (section_ == nullptr || std::ranges::none_of(section_->value.entries, is_meant));
}

Place Section::place_of(std::string_view key) const {
  const Entry* const entry = find(key);
  return entry == nullptr ? place_ : entry->value.place;
}

Place Section::place_of(std::string_view key, std::string_view inside) const {
  const Entry* const entry = find(key);
  if (entry == nullptr) {
    return place_;
  }
  const auto found = std::ranges::find(entry->value.entries, inside, &Entry::key);
  if (found != entry->value.entries.end()) {
    return found->value.place;
  }
  return entry->value.kind == TreeNode::Kind::scalar ? entry->value.place : entry->place;
}

void Section::read_secret(std::string_view key, std::string& out) const {
  const Entry* const entry = find(key);
  std::optional<Scalar> value = entry == nullptr ? std::nullopt : scalar(*entry);
  const std::string from = origin(entry, value);
  if (value) {
    out = std::move(value->text);
  }
  if (reading_.settings == nullptr) {
    return;
  }
  if (out.empty()) {
    reading_.settings->add(key, out, from);
  } else if (is_variable(entry->value.text)) {
    reading_.settings->add_variable(key, entry->value.text, from);
  } else {
    reading_.settings->add_secret(key, from);
  }
}

std::vector<ListItem> Section::read_list(std::string_view key, EmptyList empty) const {
  std::vector<ListItem> items;
  Scalar all;
  const Entry* const entry = find(key);
  if (entry != nullptr) {
    items = items_of(*entry, empty, all.variables);
  }
  if (reading_.settings == nullptr) {
    return items;
  }
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const ListItem& item : items) {
    texts.push_back(item.text);
  }
  if (texts.empty() && empty == EmptyList::is_wrong) {
    reading_.settings->add(key, std::nullopt, {});
  } else {
    reading_.settings->add_list(key, texts, origin(entry, all));
  }
  return items;
}

std::vector<ListItem> Section::items_of(const Entry& entry,
                                        EmptyList empty,
                                        std::string& variables) const {
  std::vector<ListItem> items;
  const bool is_list = entry.value.kind == TreeNode::Kind::list;
  const std::span<const TreeNode> nodes =
      is_list ? std::span<const TreeNode>(entry.value.items) : std::span(&entry.value, 1);
  if (nodes.empty() && empty == EmptyList::is_wrong) {
    reading_.report.add(entry.value.place, "{}: the list is empty", entry.key);
  }
  for (const TreeNode& node : nodes) {
    auto value = expanded(entry, node);
    if (!value) {
      continue;
    }
    std::optional<Place> first_byte;
    if (value->text == node.text) {
      first_byte = node.place;
      first_byte->column += node.quoted ? 1 : 0;
    }
    variables += (variables.empty() || value->variables.empty() ? "" : ", ") + value->variables;
    items.push_back({std::move(value->text), node.place, first_byte});
  }
  return items;
}

std::optional<Scalar> Section::scalar(const Entry& entry) const {
  return expanded(entry, entry.value);
}

std::optional<Scalar> Section::expanded(const Entry& named, const TreeNode& value) const {
  if (value.kind != TreeNode::Kind::scalar) {
    const std::string_view what = value.kind == TreeNode::Kind::null
                                      ? "has no value; set one, or remove the key"
                                      : "must be a single value";
    reading_.report.add(value.place, "{} {}", named.key, what);
    return std::nullopt;
  }
  std::string variables;
  Parsed<std::string> text = expand(value.text, [&](std::string_view name) {
    std::optional<std::string> found = reading_.environment(name);
    if (found && !found->empty()) {
      variables.append(variables.empty() ? "" : ", ").append(name);
    }
    return found;
  });
  if (!text) {
    reading_.report.add(value.place, "{} {}", named.key, text.error());
    return std::nullopt;
  }
  return Scalar{std::move(*text), std::move(variables)};
}

std::string Section::origin(const Entry* entry, const std::optional<Scalar>& value) const {
  if (entry == nullptr) {
    return "default";
  }
  if (value && !value->variables.empty() && entry->value.place.flag == 0) {
    return "environment " + value->variables;
  }
  return reading_.report.origin(entry->value.place);
}

void Section::report(Place place, std::string what) const {
  reading_.report.add(place, std::move(what));
}

void Section::report(const Entry& entry, std::string_view what) const {
  const std::string value = keys_.may_hold_secrets ? "the value" : shown(entry.value.text);
  reading_.report.add(entry.value.place, "{}: {} {}", entry.key, value, what);
}

Parsed<std::string> expand(std::string_view text, const EnvironmentLookup& environment) {
  std::string result;
  while (true) {
    const std::size_t at = text.find("${");
    if (at == std::string_view::npos) {
      result += text;
      return result;
    }
    if (at > 0 && text[at - 1] == '$') {
      result += text.substr(0, at - 1);
      result += "${";
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) {
      return std::unexpected("has a ${ without a closing }; write a literal ${ as $${");
    }
    const auto value = TRY(value_of(text.substr(at + 2, end - at - 2), environment));
    result += text.substr(0, at);
    result += value;
    text.remove_prefix(end + 1);
  }
}

}  // namespace cuckooguard::config
