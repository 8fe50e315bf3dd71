// What has been measured, and what can be said of it: ratios within a round, since the machine's
// speed changes between rounds more than what is asked here differs.
//
// Threads: any; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy_bench_cells.h"

namespace cuckooguard::bench {

inline constexpr std::string_view kDirect = "direct";
inline constexpr std::string_view kPinned = "pinned";
inline constexpr std::string_view kPinnedUnix = "pinned-unix";
inline constexpr std::string_view kShared = "shared";
// As shared, for clients that come by a Unix socket: as of a sidecar on the same machine.
inline constexpr std::string_view kUnixClients = "unix-clients";
inline constexpr std::string_view kDirectTls = "direct-tls";
inline constexpr std::string_view kSharedTls = "shared-tls";  // clients speak TLS
inline constexpr std::string_view kSharedTlsBoth =
    "shared-tls-both";  // and so does the guard with Redis
inline constexpr std::string_view kPinnedTlsBoth = "pinned-tls-both";
inline constexpr std::string_view kHaproxyTls = "haproxy-tls";
inline constexpr std::string_view kTwemproxy = "twemproxy";
inline constexpr std::string_view kHaproxy = "haproxy";

// One target under one load.
struct Sample {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double proxy_microseconds = 0;  // of CPU, per request; 0 of direct
  double redis_microseconds = 0;
};

// Of what redis-benchmark --csv has printed for one command; nothing of the CPU. Nothing if there
// is no such line.
std::optional<Sample> parse_csv(std::string_view text);

using Round = std::map<std::string, Sample, std::less<>>;  // by target

struct CellRounds {
  Cell cell;
  std::vector<Round> rounds;
};

// Bytes of one connection's memory in the process it is connected to.
struct Memory {
  std::string target;
  std::size_t connections = 0;
  double idle = 0;
  double first_use = 0;
  std::optional<double> burst;    // not measured of very many
  std::optional<double> settled;  // some time after the burst
};

struct Results {
  std::vector<std::string> targets;  // those that were measured, direct first
  std::vector<CellRounds> cells;
  std::vector<Memory> memory;

  bool has(std::string_view target) const;
  // The guard that the promises are about.
  std::string_view guard() const { return has(kShared) ? kShared : kPinned; }
  const CellRounds* find(const Cell& cell) const;
  const Memory* find_memory(std::string_view target) const;  // with the fewest connections
};

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

using Field = double Sample::*;

struct Term {
  std::string_view target;
  Field field;
};

// Over the rounds in which both were measured; all 0 if there is none.
Spread spread(const CellRounds& cell, const Term& term);
Spread ratio(const CellRounds& cell, const Term& numerator, const Term& denominator);
// Throughput to that of the faster one, in each round, of the proxies that are not the guard.
Spread ratio_to_best_other(const CellRounds& cell, std::string_view target);

}  // namespace cuckooguard::bench
