// The clock of the product: time since boot, counting suspension.
//
// An absent verdict is allowed only before a deadline that was proven a moment ago. A clock that
// stands still while the machine is suspended (CLOCK_MONOTONIC, and so steady_clock::now()) would
// keep that deadline in the future after a night's sleep; CLOCK_BOOTTIME does not. The values
// travel as steady_clock::time_point, the carrier type of every room; steady_clock::now() itself is
// for pauses and time limits of waiting alone.
#pragma once

#include <chrono>

namespace cuckooguard::io {

using TimePoint = std::chrono::steady_clock::time_point;

// Any thread. About 20 ns (vDSO).
TimePoint now_since_boot() noexcept;

// What the calendar says, for stamps that others read. It may jump: never for a deadline of ours.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;
WallTime wall_time() noexcept;

}  // namespace cuckooguard::io
