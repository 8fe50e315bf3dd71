#include "views/process_use.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace cuckooguard::views {
namespace {

double seconds_of(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
}

double now_of(clockid_t clock) {
  constexpr double kNano = 1e-9;
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNano;
}

// proc(5), /proc/pid/stat: the program's name, in parentheses, may have anything in it; field 22 is
// the start.
double started_seconds_since_boot() {
  constexpr int kFieldsBetween = 19;
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::size_t at = name_end + 1;
  for (int i = 0; i < kFieldsBetween && at != std::string::npos; ++i) {
    at = line.find(' ', at + 1);
  }
  return at == std::string::npos
             ? 0
             : std::stod(line.substr(at)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessUse process_use() {
  ProcessUse use;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    use.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::ifstream memory("/proc/self/statm");
  if (memory >> use.virtual_bytes >> use.resident_bytes) {
    use.virtual_bytes *= page;
    use.resident_bytes *= page;
  }
  use.start_time_seconds =
      now_of(CLOCK_REALTIME) - now_of(CLOCK_BOOTTIME) + started_seconds_since_boot();
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (!error) {
    use.open_descriptors = static_cast<double>(std::distance(begin(descriptors), end(descriptors)));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    use.descriptors_max = static_cast<double>(limit.rlim_cur);
  }
  return use;
}

}  // namespace cuckooguard::views
