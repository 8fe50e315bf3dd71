// The values a setting can have, as text: durations, sizes, counts, fractions, rates, addresses,
// absent replies.
//
// Each function takes the whole text and gives the value, or words that go on from the value: `"5"
// has no unit: ...`.
// The words never repeat the text: it may come from the environment, or hold a secret that went
// astray.
//
// Threads: free functions without state.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/config.h"
#include "text/try.h"

namespace cuckooguard::config {

template <typename T>
using Parsed = std::expected<T, std::string>;

inline constexpr std::chrono::hours kDurationMax{24 * 365};
inline constexpr std::size_t kUnixPathBytesMax = 107;  // sockaddr_un::sun_path without its NUL
inline constexpr std::size_t kAbsentReplyBytesMax = 64 * 1024;

// A text that could not be read, for the words about it. What may hold a user and password, such as
// a URL, is not shown.
std::string shown(std::string_view text);

Parsed<std::chrono::milliseconds> parse_duration(std::string_view text);  // 500ms, 1s, 5m, 2h, 1d
Parsed<std::uint64_t> parse_bytes(std::string_view text);                 // 512B, 64KiB, 1MiB, 2GiB
Parsed<std::uint64_t> parse_count(std::string_view text);                 // 20, 10k, 20M, 1G
Parsed<double> parse_fraction(std::string_view text);                     // 0.2% -> 0.002
Parsed<double> parse_rate(std::string_view text);                         // 10/s, 30/min, 0
Parsed<std::string> parse_text(std::string_view text);                    // not empty
Parsed<std::string> parse_any_text(std::string_view text);                // may be empty
Parsed<std::optional<std::uint32_t>> parse_file_mode(std::string_view text);  // 0660, or nothing
Parsed<bool> parse_bool(std::string_view text);                               // true, false
Parsed<Address> parse_address(std::string_view text);           // host:port, [::1]:port, unix:/path
Parsed<NodeAddress> parse_node_address(std::string_view text);  // host:port=host:port
Parsed<NodePorts> parse_node_ports(std::string_view text);      // host:first-last
Parsed<std::string> parse_host(std::string_view text);          // a name, without a port
Parsed<AbsentReply> parse_absent_reply(std::string_view text);  // nil, go-zero, bytes:TEXT, hex:4a
std::vector<std::string_view> absent_reply_names();             // all that it takes
Parsed<FreshIds> parse_fresh_ids(std::string_view text);        // auto, 0 (off), 500

template <typename T>
using Choice = std::pair<std::string_view, T>;

// The choices of an enum, whose names these are in its order.
template <typename T, std::size_t n>
constexpr std::array<Choice<T>, n> choices_of(const std::array<std::string_view, n>& names) {
  std::array<Choice<T>, n> choices;
  for (std::size_t i = 0; i < n; ++i) {
    choices[i] = {names[i], static_cast<T>(i)};
  }
  return choices;
}
template <typename T, std::size_t n>
constexpr std::array<Choice<T>, n> choices_of(const std::string_view (&names)[n]) {
  return choices_of<T>(std::to_array(names));
}

std::unexpected<std::string> unknown_choice(std::string_view text,
                                            std::span<const std::string_view> names);

template <typename T, std::size_t n>
Parsed<T> parse_choice(std::string_view text, const std::array<Choice<T>, n>& choices) {
  std::array<std::string_view, n> names;
  for (std::size_t i = 0; i < n; ++i) {
    if (choices[i].first == text) {
      return choices[i].second;
    }
    names[i] = choices[i].first;
  }
  return unknown_choice(text, names);
}

template <typename T, std::size_t n>
std::string name_of_choice(T value, const std::array<Choice<T>, n>& choices) {
  for (const auto& [name, choice] : choices) {
    if (choice == value) {
      return std::string(name);
    }
  }
  return {};  // a value that the file cannot have
}

// parse, and then only a value from `low` to `high`; `words` say so: `must be from 1 to 1024`.
template <typename Out, typename Parse>
constexpr auto bounded(Parse parse, Out low, Out high, std::string_view words) {
  return [=](std::string_view text) -> Parsed<Out> {
    const auto parsed = TRY(parse(text));
    using Value = std::remove_cvref_t<decltype(parsed)>;
    if (parsed < static_cast<Value>(low) || parsed > static_cast<Value>(high)) {
      return std::unexpected(std::string(words));
    }
    return static_cast<Out>(parsed);
  };
}

// `auto`, which is nothing, or what `parse` makes of it.
template <typename Parse>
constexpr auto or_auto(Parse parse) {
  return [=](std::string_view text) {
    using Value = std::remove_cvref_t<decltype(*parse(text))>;
    return text == "auto" ? Parsed<std::optional<Value>>(std::nullopt)
                          : Parsed<std::optional<Value>>(parse(text));
  };
}

// The values of settings as text, such that the readers above give the same value again.
std::string text_of(std::chrono::milliseconds duration);  // in the largest unit that it is whole in
std::string text_of(double fraction);                     // 0.2%
std::string text_of(bool truth);
std::string text_of(int count);
std::string text_of(std::uint32_t count);
std::string text_of(std::uint64_t count);
std::string text_of(const std::string& text);
std::string text_of(const Address& address);
std::string text_of(const NodeAddress& node);
std::string text_of(const AbsentReply& reply);
std::string text_of(const FreshIds& window);
std::string text_of(const ReplicationSlot& slot);
std::string text_of(const std::optional<Address>& address);      // none: empty
std::string text_of(const std::optional<NodePorts>& ports);      // none: empty
std::string text_of(const std::optional<std::uint32_t>& count);  // none: auto
std::string text_of(const std::optional<std::uint64_t>& count);  // none: auto
// nullopt: the key has to be left out.
std::optional<std::string> text_of(const std::optional<AbsentReply>& reply);

std::string text_of_bytes(std::uint64_t bytes);  // 64KiB
std::string text_of_rate(double per_second);  // 10/s, or 30/min where that is the whole number; 0

}  // namespace cuckooguard::config
