#include "proxy_bench_tls.h"

#include <fmt/format.h>

namespace cuckooguard::bench {
namespace {

constexpr Field kThroughput = &Sample::per_second;
constexpr Field kCpu = &Sample::proxy_microseconds;

double of_cell(const Results& results,
               Load load,
               unsigned pipeline,
               const Term& numerator,
               const Term& denominator) {
  const CellRounds* const cell =
      results.find({.load = load, .clients = kPromisedClients, .pipeline = pipeline});
  return cell == nullptr ? 0 : ratio(*cell, numerator, denominator).median;
}

}  // namespace

bool is_measured_with_tls(const Cell& cell) {
  return is_promised(cell) && cell.pipeline <= 16;
}

std::string tls_table(const Results& results) {
  std::string text =
      "                    to direct-tls  [min max]     requests/s   p99 ms  proxy us  redis us\n";
  for (const CellRounds& cell : results.cells) {
    text += name(cell.cell) + "\n";
    for (const std::string& target : results.targets) {
      const Spread to_direct = ratio(cell, {target, kThroughput}, {kDirectTls, kThroughput});
      const auto typical = [&](Field field) { return spread(cell, {target, field}).median; };
      text += fmt::format(
          "  {:<18} {:>8.2f}       [{:.2f} {:.2f}] {:>12.0f} {:>8.2f} {:>9.2f} {:>9.2f}\n",
          target,
          to_direct.median,
          to_direct.min,
          to_direct.max,
          typical(kThroughput),
          typical(&Sample::p99_ms),
          typical(kCpu),
          typical(&Sample::redis_microseconds));
    }
  }
  for (const Memory& one : results.memory) {
    text += fmt::format("{}: {:.0f} bytes per idle client, {:.0f} after its first use\n",
                        one.target,
                        one.idle,
                        one.first_use);
  }
  return text;
}

std::string tls_machine_line(const Results& results) {
  std::string line = "bench-tls:";
  for (const Load load : {Load::hit, Load::absent}) {
    for (const unsigned pipeline : {1U, 16U}) {
      line += fmt::format(
          " {}_p{}={:.2f}",
          kLoadNames.at(static_cast<std::size_t>(load)),
          pipeline,
          of_cell(results, load, pipeline, {kSharedTls, kThroughput}, {kDirectTls, kThroughput}));
    }
  }
  line += fmt::format(" cpu_hit_p1_over_plain={:.2f}",
                      of_cell(results, Load::hit, 1, {kSharedTls, kCpu}, {kShared, kCpu}));
  for (const unsigned pipeline : {1U, 16U}) {
    line +=
        fmt::format(" cpu_hit_p{}_over_haproxy={:.2f}",
                    pipeline,
                    of_cell(results, Load::hit, pipeline, {kSharedTls, kCpu}, {kHaproxyTls, kCpu}));
  }
  const Memory* const memory = results.find_memory(kSharedTls);
  return line + fmt::format(" idle_client_bytes={:.0f}", memory == nullptr ? 0 : memory->idle);
}

}  // namespace cuckooguard::bench
