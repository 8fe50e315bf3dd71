// One mapping of the configuration file, read key by key. Errors go to the Report; the struct then
// keeps its default, so that reading goes on and finds every error. Each value read is noted as a
// Setting, with its origin.
//
// Lifetimes: views the tree, the Reading and its Setting.
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
#include "config/effective.h"
#include "config/values.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {

// The keys that a section of the configuration can have: what unknown keys are held against. They
// come from the tables of settings (section_table.h), where each key has a row.
struct KeyList {
  std::string_view
      section;  // path in the file; `*` stands for a name the operator chooses; "" is the top
  std::span<const std::string_view> keys;
  bool may_hold_secrets = false;  // what stands here is never shown in a diagnostic
  std::string_view short_form{};  // the key that a value stands for where the section should be
};

// The key lists of all sections, from the top.
std::span<const KeyList> all_sections();

// Where in the file the parts of a Config stand, for checks that can only be made once all is read.
struct NamespacePlaces {
  Place name;
  std::vector<Place> keys;  // of each template in Namespace::keys
  Place from;
  Place table;
  bool is_table_left_out = true;  // and no unknown key looks as if it were meant
  Place columns;
  Place where;
  Place types;
  Place fresh_ids;
  Place deletes;
  Place commands;  // their key
};

struct Places {
  Place listen;
  Place admin;                       // admin.address
  std::vector<std::string> sources;  // every name, those included whose source could not be read
  std::vector<NamespacePlaces> namespaces;  // as Config::namespaces
};

// `${NAME}` and `${NAME:-default}` in a value, as in a shell; `$${` is a literal `${`.
// The text with its variables put in, or words that say which is missing. The default is taken if
// the variable is unset or empty. What a variable holds is not expanded again.
Parsed<std::string> expand(std::string_view text, const EnvironmentLookup& environment);

struct Reading {  // of one file
  Report& report;
  const EnvironmentLookup& environment;
  const Built& built;
  Setting* settings = nullptr;  // where what is read is noted; null: nowhere
  Places* places = nullptr;     // of what is checked when all is read
};

struct Scalar {
  std::string text;       // with its variables put in
  std::string variables;  // the names of those that are set
};

// How read() writes down what it has read.
struct AsText {
  std::optional<std::string> operator()(const auto& value) const { return text_of(value); }
};

struct ListItem {
  std::string text;
  Place place;
  std::optional<Place> first_byte;  // of the text, if it stands in the file as it is

  Place at(std::size_t offset) const;  // the place of a byte of the text, as near as is known
};

class Section {
 public:
  // `entry` is the section's own key with its value: a mapping, or nothing at all (every key has
  // its default then). Unknown keys are reported here.
  Section(const Reading& reading, const Entry& entry, const KeyList& keys);

  // The section under `key`; one of defaults if it is left out.
  Section inside(std::string_view key, const KeyList& keys) const;
  bool is_list(std::string_view key) const;
  // The sections of the list under `key`, in turn; an empty list and one of more than `most` are
  // reported.
  void for_each_inside(std::string_view key,
                       std::size_t most,
                       const KeyList& keys,
                       const std::function<void(const Section&)>& visit) const;
  // The entries under `key`, whose own keys are names that the operator chooses.
  std::span<const Entry> named_entries(std::string_view key) const;
  // For what stands under `key` and is no section of known keys.
  Reading reading_inside(std::string_view key) const;

  // The key's entry, or nullptr if it is left out. A key with no value (`mode:`) is reported and
  // counts as left out.
  const Entry* find(std::string_view key) const;
  // The same, and its absence is reported, once: not if a key was reported as a misspelling of it.
  const Entry* require(std::string_view key) const;
  // It is left out, and no unknown key looks as if it were meant.
  bool is_left_out(std::string_view key) const;
  // Where to point at for the key: its value, or the section if it is left out.
  Place place_of(std::string_view key) const;
  // The same for a key inside the section under `key`.
  Place place_of(std::string_view key, std::string_view inside) const;

  // parse: text -> Parsed<T>; print: T -> text, or nullopt if the key has to be left out. Whether
  // there was a value.
  template <typename T, typename Parse, typename Print = AsText>
  bool read(std::string_view key, T& out, Parse parse, Print print = {}) const {
    const Entry* const entry = find(key);
    const std::optional<Scalar> value = entry == nullptr ? std::nullopt : scalar(*entry);
    bool is_read = false;
    if (value) {
      auto parsed = parse(std::string_view(value->text));
      is_read = parsed.has_value();
      if (is_read) {
        out = std::move(*parsed);
      } else {
        report(*entry, parsed.error());
      }
    }
    if (reading_.settings != nullptr) {
      reading_.settings->add(key, print(out), origin(entry, value));
    }
    return is_read;
  }

  template <typename T, std::size_t n>
  bool read_choice(std::string_view key, T& out, const std::array<Choice<T>, n>& choices) const {
    return read(
        key,
        out,
        [&](std::string_view text) { return parse_choice(text, choices); },
        [&](T value) { return name_of_choice(value, choices); });
  }

  // A text that is not shown.
  void read_secret(std::string_view key, std::string& out) const;
  // One text, or a list of texts; an empty list is reported, unless it says something.
  enum class EmptyList : bool { is_wrong, is_right };
  std::vector<ListItem> read_list(std::string_view key,
                                  EmptyList empty = EmptyList::is_wrong) const;

  // Each item parsed; those that cannot be are reported.
  template <typename T, typename Parse>
  void read_items(std::string_view key, EmptyList empty, std::vector<T>& out, Parse parse) const {
    for (const ListItem& item : read_list(key, empty)) {
      if (auto parsed = parse(item.text)) {
        out.push_back(*std::move(parsed));
      } else {
        report(item.at(0), std::string(key) + ": " + shown(item.text) + " " + parsed.error());
      }
    }
  }

  // The value of an entry with its variables put in; nullopt (reported) if it is no scalar.
  std::optional<Scalar> scalar(const Entry& entry) const;
  // Where the value comes from, in words; a null entry is a default.
  std::string origin(const Entry* entry, const std::optional<Scalar>& value) const;
  const Built& built() const { return reading_.built; }
  void report(Place place, std::string what) const;
  // `key: "value" what`, with the value as the file has it, unless it could be a secret.
  void report(const Entry& entry, std::string_view what) const;

 private:
  Section(const Reading& reading, const Entry* entry, Place place, const KeyList& keys);

  void report_unknown(const Entry& entry) const;
  std::vector<ListItem> items_of(const Entry& entry, EmptyList empty, std::string& variables) const;
  std::optional<Scalar> expanded(const Entry& named, const TreeNode& value) const;

  Reading reading_;       // of what is inside
  const Entry* section_;  // null: left out
  Place place_;
  KeyList keys_;
};

}  // namespace cuckooguard::config
