// proxy_bench [--quick] [--json FILE] [--picture FILE]
// proxy_bench --tls
// proxy_bench --cluster
//
// The guard as a proxy, beside Redis without one, twemproxy and HAProxy (one way for bytes, no
// more), in one run on one machine. redis-benchmark is the load. The targets take turns within each
// round, each time in another order, and are compared within a round: other work on the machine
// then changes little of the ratios, and CPU per request least of all. --quick takes a shorter time
// for each, and only the cells that the README's promises are about as often; those for which no
// time is left are not measured. The last line is for machines:
//   hit_pN, absent_pN              throughput to Redis without a proxy, c = 50, pipelines of N,
//                                  rows' keys and no row's
//   cpu_hit_p1_over_twemproxy      CPU of the guard per hit over twemproxy's
//   redis_cpu_hit_p1_over_direct   CPU of Redis per hit behind the guard, over that without
//   idle_client_bytes              the guard's memory per connection that never spoke
// The guard is `shared` if it has that mode, else `pinned`.
// --tls measures what TLS costs instead (proxy_bench_tls.h), --cluster the guard in front of a
// cluster (proxy_bench_cluster.h).

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run_main.h"
#include "proxy_bench_cluster.h"
#include "proxy_bench_cluster_targets.h"
#include "proxy_bench_floors.h"
#include "proxy_bench_load.h"
#include "proxy_bench_memory.h"
#include "proxy_bench_picture.h"
#include "proxy_bench_report.h"
#include "proxy_bench_targets.h"
#include "proxy_bench_tls.h"

namespace cuckooguard::bench {
namespace {

struct Options {
  bool is_quick = false;
  bool is_tls = false;
  bool is_cluster = false;
  std::string json_file = {};     // empty: none
  std::string picture_file = {};  // empty: none
};

struct Effort {
  unsigned rounds = 0;
  double seconds = 0;
};

constexpr Effort kFull{.rounds = 5, .seconds = 0.8};
constexpr Effort kQuickPromised{.rounds = 7, .seconds = 0.25};
constexpr Effort kQuickBeside{.rounds = 3, .seconds = 0.15};  // as many clients, other loads
constexpr Effort kQuickAside{.rounds = 1, .seconds = 0.15};   // other numbers of clients
// So that all is done within four minutes, on a machine that is busy with other work, too.
constexpr harness::milliseconds kQuickPatience{210'000};
constexpr harness::milliseconds kFullPatience{std::chrono::hours{6}};
constexpr Effort kClusterEffort{.rounds = 15, .seconds = 0.5};
constexpr Effort kTlsEffort{.rounds = 7, .seconds = 0.5};
constexpr std::size_t kTlsConnections = 300;
constexpr std::size_t kConnections = 1000;
constexpr std::size_t kManyConnections = 10'000;

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    bool* const flag = argument == "--quick"     ? &options.is_quick
                       : argument == "--tls"     ? &options.is_tls
                       : argument == "--cluster" ? &options.is_cluster
                                                 : nullptr;
    if (flag != nullptr) {
      *flag = true;
      continue;
    }
    std::string* const file = argument == "--json"      ? &options.json_file
                              : argument == "--picture" ? &options.picture_file
                                                        : nullptr;
    if (file == nullptr || ++i == argc) {
      return false;
    }
    *file = argv[i];
  }
  return true;
}

// With the seconds since the first line.
void say(const std::string& line) {
  static const auto kBegin = harness::SteadyClock::now();
  const std::chrono::duration<double> since = harness::SteadyClock::now() - kBegin;
  const std::string_view text(line.data(), line.find_last_not_of('\n') + 1);
  std::fprintf(stderr, "%5.0f s  %s\n", since.count(), std::string(text).c_str());
}

// In every round another one is first, and every second round goes backwards.
std::vector<const Loaded*> order(const std::vector<Loaded>& targets, unsigned round) {
  std::vector<const Loaded*> turns;
  for (const Loaded& target : targets) {
    turns.push_back(&target);
  }
  std::ranges::rotate(turns, turns.begin() + static_cast<std::ptrdiff_t>(round % turns.size()));
  if (round % 2 == 1) {
    std::ranges::reverse(turns);
  }
  return turns;
}

std::list<Target> start_targets(const BenchRedis& redis, std::span<const TargetPlan> plans) {
  std::list<Target> targets;
  for (const TargetPlan& plan : plans) {
    try {
      targets.emplace_back(plan, redis);
    } catch (const std::exception& trouble) {
      if (plan.kind == Kind::direct || plan.name == kPinned) {
        throw;  // nothing is left to be measured
      }
      say(std::string(plan.name) + " is left out: " + trouble.what());
    }
  }
  return targets;
}

std::vector<Loaded> loaded(const std::list<Target>& targets) {
  std::vector<Loaded> all;
  for (const Target& target : targets) {
    all.push_back(target.loaded());
  }
  return all;
}

// The targets outlive it.
class Rounds {
 public:
  Rounds(std::vector<Loaded> targets, Results& results)
      : targets_(std::move(targets)), results_(results) {
    for (const Loaded& target : targets_) {
      results.targets.push_back(target.name);
    }
    for (const Cell& cell : all_cells()) {
      results.cells.push_back({.cell = cell, .rounds = {}});
    }
    say("all targets are right");
  }

  // Of the cells of which `is_wanted`; none is begun after the deadline.
  template <typename Wanted>
  void measure(const Wanted& is_wanted, const Effort& effort, const harness::Deadline& deadline) {
    for (unsigned round = 0; round < effort.rounds; ++round) {
      for (CellRounds& cell : results_.cells) {
        if (is_wanted(cell.cell) && !deadline.has_passed()) {
          measure(cell, round, effort.seconds);
        }
      }
      say("round " + std::to_string(round + 1) + " of " + std::to_string(effort.rounds));
    }
  }

 private:
  void measure(CellRounds& cell, unsigned round, double seconds) {
    Round& samples = cell.rounds.emplace_back();
    for (const Loaded* const target : order(targets_, round)) {
      samples[target->name] = load_.run(*target, cell.cell, seconds);
    }
  }

  std::vector<Loaded> targets_;
  Results& results_;
  LoadGenerator load_;
};

// Each target is started anew: what it keeps of former clients is not these clients'.
void measure_memories(bool is_quick, Results& results) {
  for (const TargetPlan& plan : kTargetPlans) {
    if (!results.has(plan.name)) {
      continue;
    }
    for (const std::size_t connections : {kConnections, kManyConnections}) {
      const bool are_many = connections == kManyConnections;
      if (are_many && is_quick) {
        continue;
      }
      if (!has_descriptors_for(plan, connections)) {
        say(std::string(plan.name) + ": " + std::to_string(connections) +
            " connections are left out, the limit of open files is too low");
        continue;
      }
      try {
        const BenchRedis redis;
        const Target target(plan, redis);
        results.memory.push_back(measure_memory(target, connections, !are_many));
      } catch (const std::exception& trouble) {
        say(std::string(plan.name) + " with " + std::to_string(connections) +
            " connections is left out: " + trouble.what());
      }
    }
    say("memory of " + std::string(plan.name));
  }
}

void drop_cells_without_a_round(Results& results) {
  const auto count =
      std::erase_if(results.cells, [](const CellRounds& cell) { return cell.rounds.empty(); });
  if (count > 0) {
    say("cells left out, for want of time: " + std::to_string(count));
  }
}

Results measure_all(bool is_quick) {
  const harness::Deadline quick_deadline(kQuickPatience);
  const auto all = [](const Cell&) { return true; };
  const auto beside = [](const Cell& cell) {
    return cell.clients == kPromisedClients && !is_promised(cell);
  };
  const auto aside = [](const Cell& cell) { return cell.clients != kPromisedClients; };
  Results results;
  const BenchRedis redis;
  const std::list<Target> targets = start_targets(redis, kTargetPlans);
  Rounds rounds(loaded(targets), results);
  if (is_quick) {
    rounds.measure(is_promised, kQuickPromised, harness::Deadline(kFullPatience));
    measure_memories(is_quick, results);
    rounds.measure(beside, kQuickBeside, quick_deadline);
    rounds.measure(aside, kQuickAside, quick_deadline);
  } else {
    rounds.measure(all, kFull, harness::Deadline(kFullPatience));
    measure_memories(is_quick, results);
  }
  drop_cells_without_a_round(results);
  return results;
}

// Of idle connections those of one guard only: that is a thread each here (harness/tls_tunnel.h).
int run_tls() {
  Results results;
  {
    const BenchRedis redis;
    const std::list<Target> targets = start_targets(redis, kTlsTargetPlans);
    Rounds rounds(loaded(targets), results);
    rounds.measure(is_measured_with_tls, kTlsEffort, harness::Deadline(kFullPatience));
  }
  std::erase_if(results.cells, [](const CellRounds& cell) { return cell.rounds.empty(); });
  for (const TargetPlan& plan : kTlsTargetPlans) {
    if (plan.name == kShared || plan.name == kSharedTls) {
      const BenchRedis redis;
      const Target target(plan, redis);
      results.memory.push_back(measure_memory(target, kTlsConnections, false));
    }
  }
  std::printf("%s\n%s\n", tls_table(results).c_str(), tls_machine_line(results).c_str());
  return 0;
}

int run_cluster() {
  Results results;
  const ClusterTargets targets;
  Rounds rounds(targets.loaded(), results);
  rounds.measure(is_measured_of_cluster, kClusterEffort, harness::Deadline(kFullPatience));
  targets.check_that_nothing_was_redirected();
  std::erase_if(results.cells, [](const CellRounds& cell) { return cell.rounds.empty(); });
  std::printf("%s\n%s\n", cluster_table(results).c_str(), cluster_machine_line(results).c_str());
  return 0;
}

int run(const Options& options) {
  harness::raise_descriptor_limit();
  say("starting");
  if (options.is_tls) {
    return run_tls();
  }
  if (options.is_cluster) {
    return run_cluster();
  }
  const Results results = measure_all(options.is_quick);
  if (!options.json_file.empty()) {
    harness::write_whole_file(options.json_file, json(results));
  }
  if (!options.picture_file.empty()) {
    harness::write_whole_file(options.picture_file, picture(results));
  }
  std::printf("%s\n%s\n", table(results).c_str(), machine_line(results).c_str());
  return 0;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  return cuckooguard::harness::run_main("proxy_bench", [&] {
    cuckooguard::bench::Options options;
    if (!cuckooguard::bench::parse(argc, argv, options)) {
      std::fputs(
          "usage: proxy_bench [--quick | --tls | --cluster] [--json FILE] [--picture FILE]\n",
          stderr);
      return 64;
    }
    std::signal(SIGPIPE, SIG_IGN);
    return cuckooguard::bench::run(options);
  });
}
