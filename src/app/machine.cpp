#include "app/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>

#include <sys/prctl.h>
#include <sys/resource.h>

namespace cuckooguard::app {
namespace {

// cgroup v2: "<quota> <period>" or "max <period>", microseconds. In a container this is what there
// is of the cores.
std::optional<double> cores_of_cgroup() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

}  // namespace

unsigned worker_count(unsigned configured) {
  if (configured > 0) {
    return configured;
  }
  const auto cores = static_cast<double>(std::thread::hardware_concurrency());
  const double usable = std::min(cores, cores_of_cgroup().value_or(cores));
  return std::max(1U, static_cast<unsigned>(usable / 2));
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// "always [madvise] never": the one in force is in brackets.
bool has_huge_pages(const std::string& setting) {
  std::ifstream file(setting);
  std::string words;
  std::getline(file, words);
  const bool is_on = words.contains("[always]") || words.contains("[madvise]");
  return is_on && ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
}

bool is_loopback(const config::Address& address) {
  return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

bool is_container_of_its_own(std::span<const std::string> marks, bool is_in_pod) {
  return !is_in_pod && std::ranges::any_of(marks, [](const std::string& mark) {
    std::error_code ignored;
    return std::filesystem::exists(mark, ignored);
  });
}

}  // namespace cuckooguard::app
