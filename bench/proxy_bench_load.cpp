#include "proxy_bench_load.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/child_process.h"

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

Sample LoadGenerator::run(const Loaded& target, const Cell& cell, double seconds) {
  Cell trial = cell;
  trial.clients = clients_of_trial(cell);
  const auto [pace, is_new] =
      paces_.try_emplace({target.name, trial.load, trial.pipeline, trial.clients}, 0);
  if (is_new) {
    pace->second = try_out(target, trial);
  }
  const Sample sample = run_requests(target, cell, requests_for(cell, pace->second, seconds));
  if (cell == trial) {
    pace->second = sample.per_second;
  }
  return sample;
}

double LoadGenerator::try_out(const Loaded& target, const Cell& cell) const {
  std::uint64_t requests = requests_for(cell, kFirstTrial, 1);
  double rate = run_requests(target, cell, requests).per_second;
  while (static_cast<double>(requests) / rate < kTrialSecondsMin) {
    requests *= 4;
    rate = run_requests(target, cell, requests).per_second;
  }
  return rate;
}

Sample LoadGenerator::run_requests(const Loaded& target,
                                   const Cell& cell,
                                   std::uint64_t requests) const {
  const auto cpu_of_redis = [&] {
    return std::accumulate(
        target.redis.begin(), target.redis.end(), 0.0, [](double sum, pid_t process) {
          return sum + cpu_microseconds(process);
        });
  };
  const double proxy_before = target.proxy ? cpu_microseconds(*target.proxy) : 0;
  const double redis_before = cpu_of_redis();
  std::vector<std::string> command = load_command(cell, target.port, requests, target.is_cluster);
  command.insert(command.begin() + 1, target.options.begin(), target.options.end());
  harness::ChildProcess benchmark(std::move(command),
                                  {directory_ / "output", directory_ / "errors"});
  const std::optional<int> code = benchmark.exit_code(kRunPatience);
  const double redis = cpu_of_redis() - redis_before;
  const double of_proxy = target.proxy ? cpu_microseconds(*target.proxy) - proxy_before : 0;
  std::optional<Sample> sample = parse_csv(harness::read_whole_file(directory_ / "output"));
  if (code != 0 || !sample) {
    throw std::runtime_error(fmt::format("redis-benchmark fails on {}, {}: {}",
                                         target.name,
                                         name(cell),
                                         harness::read_whole_file(directory_ / "errors")));
  }
  sample->proxy_microseconds = of_proxy / static_cast<double>(requests);
  sample->redis_microseconds = redis / static_cast<double>(requests);
  return *sample;
}

}  // namespace cuckooguard::bench
