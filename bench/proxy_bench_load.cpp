#include "proxy_bench_load.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cuckooguard::bench {
namespace {

// redis-benchmark counts milliseconds: what takes fewer says little, or that the rate is infinite.
constexpr double kTrialSecondsMin = 0.010;
constexpr std::uint64_t kFirstTrial = 256;
constexpr harness::milliseconds kRunPatience{60'000};

// redis-benchmark takes 50 ms to connect every 64 clients, more than a trial; many are about as
// fast as fifty.
unsigned clients_of_trial(const Cell& cell) {
  return std::min(cell.clients, kPromisedClients);
}

}  // namespace

double cpu_microseconds(pid_t pid) {
  double nanoseconds = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream statistics(thread.path() / "schedstat");
    double on_cpu = 0;
    if (!(statistics >> on_cpu)) {
      throw std::runtime_error("no CPU time in " + (thread.path() / "schedstat").string());
    }
    nanoseconds += on_cpu;
  }
  return nanoseconds / 1000;
}

Sample LoadGenerator::run(const Target& target, const Cell& cell, double seconds) {
  Cell trial = cell;
  trial.clients = clients_of_trial(cell);
  const auto [pace, is_new] =
      paces_.try_emplace({target.name(), trial.load, trial.pipeline, trial.clients}, 0);
  if (is_new) {
    pace->second = try_out(target, trial);
  }
  const Sample sample = run_requests(target, cell, requests_for(cell, pace->second, seconds));
  if (cell == trial) {
    pace->second = sample.per_second;
  }
  return sample;
}

double LoadGenerator::try_out(const Target& target, const Cell& cell) const {
  std::uint64_t requests = requests_for(cell, kFirstTrial, 1);
  double rate = run_requests(target, cell, requests).per_second;
  while (static_cast<double>(requests) / rate < kTrialSecondsMin) {
    requests *= 4;
    rate = run_requests(target, cell, requests).per_second;
  }
  return rate;
}

Sample LoadGenerator::run_requests(const Target& target,
                                   const Cell& cell,
                                   std::uint64_t requests) const {
  const std::optional<pid_t> proxy = target.proxy_pid();
  const double proxy_before = proxy ? cpu_microseconds(*proxy) : 0;
  const double redis_before = cpu_microseconds(target.redis_pid());
  std::vector<std::string> command = load_command(cell, target.port(), requests);
  const std::vector<std::string> options = target.benchmark_options();
  command.insert(command.begin() + 1, options.begin(), options.end());
  harness::ChildProcess benchmark(std::move(command),
                                  {directory_ / "output", directory_ / "errors"});
  const std::optional<int> code = benchmark.exit_code(kRunPatience);
  const double redis = cpu_microseconds(target.redis_pid()) - redis_before;
  const double of_proxy = proxy ? cpu_microseconds(*proxy) - proxy_before : 0;
  std::optional<Sample> sample = parse_csv(harness::read_whole_file(directory_ / "output"));
  if (code != 0 || !sample) {
    throw std::runtime_error(fmt::format("redis-benchmark fails on {}, {}: {}",
                                         target.name(),
                                         name(cell),
                                         harness::read_whole_file(directory_ / "errors")));
  }
  sample->proxy_microseconds = of_proxy / static_cast<double>(requests);
  sample->redis_microseconds = redis / static_cast<double>(requests);
  return *sample;
}

}  // namespace cuckooguard::bench
