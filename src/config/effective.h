// The settings as they are in force: every key that the readers read, with its value, and where
// that comes from. Written down by Section while it reads, so that there is no second list of keys,
// and printed as YAML that can be read again.
//
//   limits:
//     max_clients: 500                     # guard.yaml:12
//     client_output_soft: 1MiB             # default
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cuckooguard::config {

struct Setting {
  enum class Kind : std::uint8_t {
    mapping,  // `inside`
    value,
    comment,  // `value` is for people: a secret, or that there is none
  };

  std::string key{};  // of an item of a list none
  Kind kind = Kind::mapping;
  std::string value{};          // as YAML has it
  std::string origin{};         // default, guard.yaml:12, environment NAME, flag --listen
  std::list<Setting> inside{};  // whose places in memory stay

  Setting& add_mapping(std::string_view name);
  Setting& add_item();  // a mapping in a list: all that is inside is items then, or nothing is
  // nullopt: it has no value, and needs none.
  void add(std::string_view name, const std::optional<std::string>& text, std::string_view from);
  void add_list(std::string_view name, std::span<const std::string> texts, std::string_view from);
  // Nothing of the secret itself.
  void add_secret(std::string_view name, std::string_view from);
  // `${NAME}` as it stands in the file.
  void add_variable(std::string_view name, std::string_view variable, std::string_view from);
};

// Text as a scalar in YAML that reads as the same again, `${` included; in quotes where it needs
// them.
std::string yaml_scalar(std::string_view text);

// Every setting of the whole, on a line of its own with its origin as a comment.
std::string print_settings(const Setting& whole);

}  // namespace cuckooguard::config
