// One mapping of the configuration file, read key by key. What is wrong goes to the Report; the struct keeps its
// default then, so that reading goes on and every error is found.
//
// Called by: the readers of this room. Lifetimes: views the tree and the Reading.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config_file.h"
#include "config/diagnostic.h"
#include "config/schema.h"
#include "config/values.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {

struct Reading {  // of one file
  Report& report;
  const EnvironmentLookup& environment;
};

struct ListItem {
  std::string text;
  Place place;
  std::optional<Place> first_byte;  // of the text, if it stands in the file as it is

  Place at(std::size_t offset) const;  // the place of a byte of the text, as near as is known
};

class Section {
 public:
  // `entry` is the section's own key with its value: a mapping, or nothing at all (every key has its default then).
  // Unknown keys are reported here.
  Section(const Reading& reading, const Entry& entry, const KeyList& keys);

  // The key's entry, or nullptr if it is left out. A key with no value (`mode:`) is reported and counts as left out.
  const Entry* find(std::string_view key) const;
  // The same, and its absence is reported.
  const Entry* require(std::string_view key) const;
  // Where to point at for the key: its value, or the section if it is left out.
  Place place_of(std::string_view key) const;

  // parse: text -> Parsed<T>
  template <typename T, typename Parse>
  void read(std::string_view key, T& out, Parse parse) const {
    const Entry* const entry = find(key);
    const std::optional<std::string> text = entry == nullptr ? std::nullopt : scalar(*entry);
    if (!text) {
      return;
    }
    auto parsed = parse(std::string_view(*text));
    if (parsed) {
      out = std::move(*parsed);
    } else {
      report(*entry, parsed.error());
    }
  }

  template <typename T, std::size_t n>
  void read_choice(std::string_view key, T& out, const std::array<Choice<T>, n>& choices) const {
    read(key, out, [&](std::string_view text) { return parse_choice(text, choices); });
  }

  void read_text(std::string_view key, std::string& out) const;
  // One text, or a list of texts; an empty list is reported, unless it says something.
  enum class EmptyList : bool { is_wrong, is_right };
  std::vector<ListItem> read_list(std::string_view key,
                                  EmptyList empty = EmptyList::is_wrong) const;

  // The value of an entry with its variables put in; nullopt (reported) if it is no scalar.
  std::optional<std::string> scalar(const Entry& entry) const;
  // `key: "value" what`, with the value as the file has it, unless it could be a secret.
  void report(const Entry& entry, std::string_view what) const;

 private:
  void report_unknown(const Entry& entry) const;
  std::optional<std::string> expanded(const Entry& named, const TreeNode& value) const;

  Reading reading_;
  const Entry* section_;
  KeyList keys_;
};

}  // namespace cuckooguard::config
