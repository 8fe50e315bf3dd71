#include "proxy_bench_cells.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace cuckooguard::bench {
namespace {

constexpr std::array kLoads{Load::hit, Load::absent, Load::half, Load::set, Load::mget};
constexpr std::array kLargeLoads{Load::hit_4k, Load::hit_64k};
constexpr std::array kLargePipelines{1U, 16U};  // 64 KiB by 50 clients by 64 is 200 MiB of replies
constexpr std::array kClients{50U, 1U, 500U};
constexpr std::array kPipelines{1U, 16U, 64U};
constexpr int kKeysOfMget = 10;
constexpr std::string_view kAnyRow = "1__rand_int__";
constexpr std::string_view kNoRow = "2__rand_int__";

std::vector<std::string> redis_command(Load load, bool is_cluster) {
  const std::string prefix = is_cluster ? "user:{tag}:" : "user:";
  switch (load) {
    case Load::hit:
    case Load::half:
      return {"GET", prefix + std::string(kAnyRow)};
    case Load::absent:
      return {"GET", prefix + std::string(kNoRow)};
    case Load::set:
      return {"SET", prefix + std::string(kAnyRow), value()};
    case Load::hit_4k:
      return {"GET", prefix + "4__rand_int__"};
    case Load::hit_64k:
      return {"GET", prefix + "5__rand_int__"};
    case Load::mget:
      break;
  }
  std::vector<std::string> mget{"MGET"};
  for (int i = 0; i < kKeysOfMget; ++i) {
    mget.push_back(prefix + std::string(i % 2 == 0 ? kAnyRow : kNoRow));
  }
  return mget;
}

}  // namespace

bool is_promised(const Cell& cell) {
  return cell.clients == kPromisedClients && (cell.load == Load::hit || cell.load == Load::absent);
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const unsigned clients : kClients) {
    for (const Load load : kLoads) {
      for (const unsigned pipeline : kPipelines) {
        cells.push_back({.load = load, .clients = clients, .pipeline = pipeline});
      }
    }
  }
  for (const Load load : kLargeLoads) {
    for (const unsigned pipeline : kLargePipelines) {
      cells.push_back({.load = load, .clients = kPromisedClients, .pipeline = pipeline});
    }
  }
  return cells;
}

std::string name(const Cell& cell) {
  return fmt::format("{} P={} c={}",
                     kLoadNames.at(static_cast<std::size_t>(cell.load)),
                     cell.pipeline,
                     cell.clients);
}

std::string key(std::uint64_t id) {
  return fmt::format("user:{}", id);
}

std::string value(std::size_t bytes) {
  return std::string(bytes, 'v');
}

std::vector<std::string> load_command(const Cell& cell,
                                      std::uint16_t port,
                                      std::uint64_t requests,
                                      bool is_cluster) {
  const bool is_large = std::ranges::find(kLargeLoads, cell.load) != kLargeLoads.end();
  const std::uint64_t keys = is_large ? kLargeRows : cell.load == Load::half ? 2 * kRows : kRows;
  std::vector<std::string> command{"redis-benchmark",
                                   "-h",
                                   "127.0.0.1",
                                   "-p",
                                   std::to_string(port),
                                   "-c",
                                   std::to_string(cell.clients),
                                   "-P",
                                   std::to_string(cell.pipeline),
                                   "-n",
                                   std::to_string(requests),
                                   "-r",
                                   std::to_string(keys),
                                   "--csv"};
  if (is_cluster) {
    // One thread, as without a cluster: not one for each node.
    command.insert(command.end(), {"--cluster", "--threads", "1"});
  }
  std::ranges::move(redis_command(cell.load, is_cluster), std::back_inserter(command));
  return command;
}

std::uint64_t requests_for(const Cell& cell, double per_second, double seconds) {
  const std::uint64_t turn = std::uint64_t{cell.clients} * cell.pipeline;
  const auto turns =
      static_cast<std::uint64_t>(std::llround(per_second * seconds / static_cast<double>(turn)));
  return std::max<std::uint64_t>(turns, 1) * turn;
}

}  // namespace cuckooguard::bench
