#include "io/clock.h"

#include <ctime>

namespace cuckooguard::io {

TimePoint now_since_boot() noexcept {
  timespec reading{};
  // Fails only for an unknown clock; CLOCK_BOOTTIME is older than every kernel this runs on
  // (2.6.39).
  ::clock_gettime(CLOCK_BOOTTIME, &reading);
  return TimePoint{std::chrono::seconds{reading.tv_sec} +
                   std::chrono::nanoseconds{reading.tv_nsec}};
}

WallTime wall_time() noexcept {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace cuckooguard::io
