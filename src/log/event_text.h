// An event as a line of text or as a JSON object. Whatever bytes a field holds, the result is one
// line, and no value can pass for another field or event: clients and databases choose some of
// them.
//
//   event=upstream_down why="Connection refused"
//   {"time":"2026-11-22T06:05:08.123Z","level":"warning","event":"upstream_down","why":"..."}
//
// Threads: free functions. Limits: kFieldBytesMax.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config/config.h"

namespace cuckooguard::log {

inline constexpr std::size_t kFieldBytesMax = 2048;  // of a value; longer ones are cut

// Views what it was made of.
class Field {
 public:
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double>;

  Field(std::string_view name, std::string_view text) : name_(name), value_(text) {}
  Field(std::string_view name, double number) : name_(name), value_(number) {}
  template <std::signed_integral Number>
  Field(std::string_view name, Number number) : name_(name), value_(std::int64_t{number}) {}
  template <std::unsigned_integral Number>
  Field(std::string_view name, Number number) : name_(name), value_(std::uint64_t{number}) {}

  std::string_view name() const { return name_; }
  const Value& value() const { return value_; }

 private:
  std::string_view name_;
  Value value_;
};

struct Event {
  std::chrono::system_clock::time_point time;
  config::LogLevel level = config::LogLevel::info;
  std::string_view name;
  std::span<const Field> fields;
};

std::string_view level_name(config::LogLevel level);

// Without time and level. A value stands in quotes if it is empty or has a space, a quote, a
// backslash, an `=`, or anything but printable ASCII, which is written as \n, \t or \xHH.
std::string text_of(const Event& event);

// UTF-8 stays as it is; a byte that is none becomes U+FFFD.
std::string json_of(const Event& event);

// As it stands in the log, which has time and level in front of text; without the line's end.
std::string line_of(const Event& event, config::LogFormat format);

}  // namespace cuckooguard::log
