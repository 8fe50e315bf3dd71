// The modes of a namespace as the configuration, GUARD.* and the admin pages call them.
//
// Threads: pure.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "config/config.h"

namespace cuckooguard::guard {

inline constexpr std::array<std::string_view, 3> kModeNames{"observe", "enforce", "bypass"};
static_assert(static_cast<std::size_t>(config::Mode::observe) == 0 &&
              static_cast<std::size_t>(config::Mode::enforce) == 1 &&
              static_cast<std::size_t>(config::Mode::bypass) == 2);

constexpr std::string_view mode_name(config::Mode mode) {
  return kModeNames.at(static_cast<std::size_t>(mode));
}

}  // namespace cuckooguard::guard
