// The absent replies that have a name: for each framework the bytes by which it caches "no such
// row" itself, so that an unmodified application stops there and does not ask its database. One
// table, which `cuckooguard presets` prints.
//
// Threads: immutable. Limits: kTimesMax times in one form.
// Source: AbsentPreset::constant names project, file and version;
// tests/guard/absent_preset_bytes_test.cpp has the bytes again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cuckooguard::config {

// A time within the bytes.
struct TimeField {
  enum class Kind : std::uint8_t {
    none,
    binary,   // any bytes; sent as milliseconds since 1970, big-endian
    decimal,  // a number as text, of any length; sent as seconds since 1970 with three places
  };
  Kind kind = Kind::none;
  std::uint8_t offset = 0;
  std::uint8_t width = 0;              // as it is sent
  std::chrono::milliseconds ahead{0};  // of the time when it is sent
};

inline constexpr std::size_t kTimesMax = 2;

struct AbsentForm {
  std::string_view bytes;                    // something stands where a time belongs
  std::array<TimeField, kTimesMax> times{};  // by offset

  constexpr bool is_stamped() const { return times[0].kind != TimeField::Kind::none; }
};

struct AbsentPreset {
  std::string_view name;  // in the configuration
  std::string_view framework;
  std::string_view constant;  // where the framework has these bytes
  std::string_view keys;      // how its keys look unless it is told otherwise
  std::string_view caution;
  // The first is sent. A value that fits any of them says no more than that there is no such row.
  std::span<const AbsentForm> forms;
};

std::span<const AbsentPreset> absent_presets() noexcept;

const AbsentPreset* find_absent_preset(std::string_view name) noexcept;  // null: none

// Whose "no such row" cannot be sent as a string, and what to do for them: lines for `cuckooguard
// presets`.
std::string_view frameworks_without_preset() noexcept;

}  // namespace cuckooguard::config
