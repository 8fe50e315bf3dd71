#include "proxy_bench_floors.h"

#include <array>

#include <fmt/format.h>

namespace cuckooguard::bench {
namespace {

constexpr Field kThroughput = &Sample::per_second;
constexpr Field kProxyCpu = &Sample::proxy_microseconds;
constexpr Field kRedisCpu = &Sample::redis_microseconds;

struct Promise {
  Load load;
  unsigned pipeline;
  double throughput;  // to direct
};

constexpr std::array kPromises{Promise{Load::hit, 1, 1.05},
                               Promise{Load::hit, 16, 0.80},
                               Promise{Load::hit, 64, 1.0},
                               Promise{Load::absent, 1, 1.0},
                               Promise{Load::absent, 16, 1.30},
                               Promise{Load::absent, 64, 2.0}};

constexpr double kLatency = 1.2;
constexpr double kProxyCpuOverTwemproxy = 0.85;
constexpr double kRedisCpuOverDirect = 0.35;
constexpr double kProxyCpuOverRedis = 0.85;  // of an absent key's reply
constexpr double kIdleBytes = 1024;
constexpr double kFirstUseBytes = 6 * 1024;
constexpr double kSettledOverFirstUse = 1.10;

// Empty if it was not measured.
CellRounds promised_cell(const Results& results, Load load, unsigned pipeline) {
  const CellRounds* const found =
      results.find({.load = load, .clients = kPromisedClients, .pipeline = pipeline});
  return found == nullptr ? CellRounds{} : *found;
}

void add_throughputs(const Results& results, std::vector<Floor>& into) {
  for (const Promise& promise : kPromises) {
    const CellRounds cell = promised_cell(results, promise.load, promise.pipeline);
    into.push_back(
        {.what = "throughput to direct, " + name(cell.cell),
         .measured = ratio(cell, {results.guard(), kThroughput}, {kDirect, kThroughput}).median,
         .limit = promise.throughput});
  }
  const CellRounds hit = promised_cell(results, Load::hit, 1);
  into.push_back(
      {.what = "p99 to direct, " + name(hit.cell),
       .measured =
           ratio(hit, {results.guard(), &Sample::p99_ms}, {kDirect, &Sample::p99_ms}).median,
       .bound = Bound::at_most,
       .limit = kLatency});
}

// Above the others in every cell: the one in which it is least so.
template <typename Ratio>
void add_worst_cell(const Results& results,
                    const std::string& what,
                    const Ratio& ratio_in,
                    std::vector<Floor>& into) {
  Floor worst{.bound = Bound::above, .limit = 1};
  unsigned cells = 0;
  unsigned above = 0;
  std::string worst_cell;
  for (const CellRounds& cell : results.cells) {
    const double measured = ratio_in(cell);
    if (cell.cell.clients != kPromisedClients || measured == 0) {
      continue;
    }
    ++cells;
    above += measured > worst.limit ? 1 : 0;
    if (worst_cell.empty() || measured < worst.measured) {
      worst.measured = measured;
      worst_cell = name(cell.cell);
    }
  }
  if (cells > 0) {
    worst.what = fmt::format("{}, above in {} of {}; least in {}", what, above, cells, worst_cell);
    into.push_back(worst);
  }
}

void add_comparisons(const Results& results, std::vector<Floor>& into) {
  add_worst_cell(
      results,
      "throughput to the best other proxy",
      [&](const CellRounds& cell) { return ratio_to_best_other(cell, results.guard()).median; },
      into);
  add_worst_cell(
      results,
      fmt::format("throughput of {} to {}", kPinnedUnix, kHaproxy),
      [](const CellRounds& cell) {
        return ratio(cell, {kPinnedUnix, kThroughput}, {kHaproxy, kThroughput}).median;
      },
      into);
}

double cpu_over_twemproxy(const Results& results) {
  return ratio(promised_cell(results, Load::hit, 1),
               {results.guard(), kProxyCpu},
               {kTwemproxy, kProxyCpu})
      .median;
}

double redis_cpu_over_direct(const Results& results) {
  return ratio(promised_cell(results, Load::hit, 1),
               {results.guard(), kRedisCpu},
               {kDirect, kRedisCpu})
      .median;
}

void add_cpu(const Results& results, std::vector<Floor>& into) {
  into.push_back({.what = "CPU of the proxy to twemproxy's, hit P=1",
                  .measured = cpu_over_twemproxy(results),
                  .bound = Bound::at_most,
                  .limit = kProxyCpuOverTwemproxy});
  into.push_back({.what = "CPU of Redis to direct, hit P=1",
                  .measured = redis_cpu_over_direct(results),
                  .bound = Bound::at_most,
                  .limit = kRedisCpuOverDirect});
  for (const unsigned pipeline : {1U, 16U, 64U}) {
    const CellRounds cell = promised_cell(results, Load::absent, pipeline);
    into.push_back(
        {.what = fmt::format("CPU of the proxy to Redis's own reply, absent P={}", pipeline),
         .measured = ratio(cell, {results.guard(), kProxyCpu}, {kDirect, kRedisCpu}).median,
         .bound = Bound::at_most,
         .limit = kProxyCpuOverRedis});
  }
}

void add_memory(const Results& results, std::vector<Floor>& into) {
  const Memory* const memory = results.find_memory(results.guard());
  if (memory == nullptr) {
    return;
  }
  into.push_back({.what = "bytes of an idle client",
                  .measured = memory->idle,
                  .bound = Bound::at_most,
                  .limit = kIdleBytes});
  into.push_back({.what = "bytes of a client after its first use",
                  .measured = memory->first_use,
                  .bound = Bound::at_most,
                  .limit = kFirstUseBytes});
  if (memory->settled && memory->first_use > 0) {
    into.push_back({.what = "memory after a burst to that before it",
                    .measured = *memory->settled / memory->first_use,
                    .bound = Bound::at_most,
                    .limit = kSettledOverFirstUse});
  }
}

}  // namespace

bool Floor::is_met() const {
  switch (bound) {
    case Bound::at_least:
      return measured >= limit;
    case Bound::at_most:
      return measured <= limit;
    case Bound::above:
      break;
  }
  return measured > limit;
}

std::vector<Floor> floors(const Results& results) {
  std::vector<Floor> all;
  add_throughputs(results, all);
  add_comparisons(results, all);
  add_cpu(results, all);
  // A ratio of 0 is of something that was not measured.
  std::erase_if(all, [](const Floor& floor) { return floor.measured == 0; });
  add_memory(results, all);
  return all;
}

std::string machine_line(const Results& results) {
  std::string line = "bench-proxy:";
  for (const Promise& promise : kPromises) {
    const CellRounds cell = promised_cell(results, promise.load, promise.pipeline);
    line += fmt::format(" {}_p{}={:.2f}",
                        kLoadNames.at(static_cast<std::size_t>(promise.load)),
                        promise.pipeline,
                        ratio(cell, {results.guard(), kThroughput}, {kDirect, kThroughput}).median);
  }
  const Memory* const memory = results.find_memory(results.guard());
  return line + fmt::format(
                    " cpu_hit_p1_over_twemproxy={:.2f} redis_cpu_hit_p1_over_direct={:.2f} "
                    "idle_client_bytes={:.0f}",
                    cpu_over_twemproxy(results),
                    redis_cpu_over_direct(results),
                    memory == nullptr ? 0 : memory->idle);
}

}  // namespace cuckooguard::bench
