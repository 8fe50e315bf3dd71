#include "proxy_bench_cluster_targets.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "harness/child_process.h"
#include "harness/redis_command.h"

namespace cuckooguard::bench {
namespace {

constexpr std::uint64_t kTried = 5000;               // requests that show that a target is right
constexpr std::uint64_t kMistakenMax = kTried / 50;  // for rows; a filter is allowed 0.2 %

void run_load(const Cell& cell, std::uint16_t port, std::uint64_t requests) {
  const harness::Ended ended = harness::run_program(load_command(cell, port, requests, true));
  if (ended.exit_code != 0) {
    throw std::runtime_error("redis-benchmark fails: " + ended.standard_error);
  }
}

}  // namespace

ClusterTargets::ClusterTargets() : cluster_({.masters = kMasters, .replicas = 0}) {
  fill();
  std::string rows;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    rows += std::to_string(kFirstRow + row) + "\n";
  }
  harness::write_whole_file(folder_ / "rows", rows);
  start_guard(kPinned);
  start_guard(kShared);
  for (const Loaded& target : loaded()) {
    const std::uint64_t before = statistic("keyspace_misses");
    gets_of(target, Load::hit);
    if (statistic("keyspace_misses") != before) {
      throw std::runtime_error(target.name + ": a row's key is not there");
    }
  }
}

// redis-benchmark chooses a tag for each node: seen in the keys that it writes.
void ClusterTargets::fill() const {
  constexpr std::uint64_t kAtOnce = 1000;
  run_load({.load = Load::set, .clients = kPromisedClients, .pipeline = 1},
           cluster_.port(0),
           kPromisedClients);
  for (std::size_t node = 0; node < kMasters; ++node) {
    const std::string key = cluster_.call(node, {"RANDOMKEY"});
    const std::size_t begin = key.find("user:");
    if (begin == std::string::npos) {
      throw std::runtime_error("redis-benchmark has not written to every node");
    }
    const std::string prefix = key.substr(begin, key.rfind(':') + 1 - begin);
    harness::RawClient client = cluster_.node(node).client();
    for (std::uint64_t row = 0; row < kRows; row += kAtOnce) {
      std::string commands;
      for (std::uint64_t i = row; i < row + kAtOnce; ++i) {
        commands += harness::command({"SET", prefix + std::to_string(kFirstRow + i), value()});
      }
      client.exchange(commands, kAtOnce);
    }
  }
}

void ClusterTargets::start_guard(std::string_view mode) {
  const std::string yaml = fmt::format(
      "upstream: {{ cluster: [ \"{}\" ], mode: {} }}\n"
      "sources:\n  rows: {{ type: file, path: \"{}\" }}\n"
      "namespaces:\n  users: {{ keys: \"user:{{{{{{_}}}}}}:{{id:uint64}}\", source: {{ from: rows "
      "}}, mode: enforce, overlay: {{ pass_at_start: false }}, absent_reply: nil, fresh_ids: 0 "
      "}}\n",
      cluster_.address(0),
      mode,
      folder_.file("rows"));
  guards_.push_back({mode, harness::GuardProcess::on_node_ports(yaml, kMasters)});
  const Loaded target = loaded().back();
  const auto is_right = [&] {
    try {
      return gets_of(target, Load::absent) <= kMistakenMax;
    } catch (const std::runtime_error&) {  // no port leads anywhere yet
      return false;
    }
  };
  if (!harness::eventually(is_right)) {
    throw std::runtime_error("absent keys reach the cluster: " + guards_.back().process.log());
  }
}

std::vector<Loaded> ClusterTargets::loaded() const {
  Loaded direct{.name = std::string(kDirect), .port = cluster_.port(0), .is_cluster = true};
  for (std::size_t node = 0; node < kMasters; ++node) {
    direct.redis.push_back(cluster_.node(node).pid());
  }
  std::vector<Loaded> all{direct};
  for (const Guard& guard : guards_) {
    Loaded target = direct;
    target.name = guard.mode;
    target.port = guard.process.port();
    target.proxy = guard.process.pid();
    all.push_back(target);
  }
  return all;
}

std::uint64_t ClusterTargets::gets_of(const Loaded& target, Load load) const {
  const std::uint64_t before = gets();
  run_load({.load = load, .clients = kPromisedClients, .pipeline = 1}, target.port, kTried);
  return gets() - before;
}

std::uint64_t ClusterTargets::gets() const {
  std::uint64_t all = 0;
  for (std::size_t node = 0; node < kMasters; ++node) {
    all += cluster_.node(node).calls("get");
  }
  return all;
}

std::uint64_t ClusterTargets::statistic(std::string_view name) const {
  std::uint64_t all = 0;
  for (std::size_t node = 0; node < kMasters; ++node) {
    all += std::stoull(cluster_.node(node).info("stats", name));
  }
  return all;
}

void ClusterTargets::check_that_nothing_was_redirected() const {
  for (std::size_t node = 0; node < kMasters; ++node) {
    if (!cluster_.node(node).info("errorstats", "errorstat_MOVED").empty()) {
      throw std::runtime_error("redis-benchmark has been told -MOVED");
    }
  }
}

}  // namespace cuckooguard::bench
