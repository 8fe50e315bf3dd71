// A cluster of three masters, without the guard and with it in both modes.
//
// Threads: one, which starts them (harness/child_process.h). Errors: std::runtime_error.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "harness/guard_process.h"
#include "harness/redis_cluster.h"
#include "harness/temporary_directory.h"
#include "proxy_bench_load.h"

namespace cuckooguard::bench {

// Started, and shown to be right by some of the load: each node has every row's key, under the tag
// that redis-benchmark chooses for it, and of other keys guards let hardly any through.
class ClusterTargets {
 public:
  static constexpr std::size_t kMasters = 3;

  ClusterTargets();

  std::vector<Loaded> loaded() const;
  // No key has been sent to another node than its own.
  void check_that_nothing_was_redirected() const;

 private:
  struct Guard {
    std::string_view mode;
    harness::GuardProcess process;
  };

  void fill() const;
  void start_guard(std::string_view mode);
  // Of some requests of this load, how many have reached a node.
  std::uint64_t gets_of(const Loaded& target, Load load) const;
  std::uint64_t statistic(std::string_view name) const;  // of INFO stats, of all nodes
  std::uint64_t gets() const;

  harness::TemporaryDirectory folder_;
  harness::RedisCluster cluster_;
  std::list<Guard> guards_;
};

}  // namespace cuckooguard::bench
