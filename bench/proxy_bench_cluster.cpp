#include "proxy_bench_cluster.h"

#include <fmt/format.h>

namespace cuckooguard::bench {
namespace {

constexpr Field kThroughput = &Sample::per_second;
constexpr Field kRedisCpu = &Sample::redis_microseconds;

double to_direct(const Results& results,
                 const Cell& cell,
                 std::string_view target,
                 Field field = kThroughput) {
  const CellRounds* const found = results.find(cell);
  return found == nullptr ? 0 : ratio(*found, {target, field}, {kDirect, field}).median;
}

}  // namespace

bool is_measured_of_cluster(const Cell& cell) {
  return is_promised(cell) && cell.pipeline <= 16;
}

std::string cluster_table(const Results& results) {
  std::string text =
      "                    to direct  [min max]     requests/s   p99 ms  proxy us  redis us\n";
  for (const CellRounds& cell : results.cells) {
    text += name(cell.cell) + "\n";
    for (const std::string& target : results.targets) {
      const Spread throughput = ratio(cell, {target, kThroughput}, {kDirect, kThroughput});
      const auto typical = [&](Field field) { return spread(cell, {target, field}).median; };
      text += fmt::format(
          "  {:<14} {:>8.2f}       [{:.2f} {:.2f}] {:>12.0f} {:>8.2f} {:>9.2f} {:>9.2f}\n",
          target,
          throughput.median,
          throughput.min,
          throughput.max,
          typical(kThroughput),
          typical(&Sample::p99_ms),
          typical(&Sample::proxy_microseconds),
          typical(kRedisCpu));
    }
  }
  return text;
}

std::string cluster_machine_line(const Results& results) {
  std::string line = "bench-cluster:";
  for (const std::string_view target : {kShared, kPinned}) {
    for (const Load load : {Load::hit, Load::absent}) {
      for (const unsigned pipeline : {1U, 16U}) {
        const Cell cell{.load = load, .clients = kPromisedClients, .pipeline = pipeline};
        line += fmt::format(" {}_{}_p{}={:.2f}",
                            target,
                            kLoadNames.at(static_cast<std::size_t>(load)),
                            pipeline,
                            to_direct(results, cell, target));
      }
    }
    const Cell hit{.load = Load::hit, .clients = kPromisedClients, .pipeline = 1};
    line += fmt::format(" {}_redis_cpu_hit_p1_over_direct={:.2f}",
                        target,
                        to_direct(results, hit, target, kRedisCpu));
  }
  return line;
}

}  // namespace cuckooguard::bench
