#include "proxy_bench_memory.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "harness/redis_command.h"

namespace cuckooguard::bench {
namespace {

using harness::RawClient;

constexpr std::size_t kBurst = 64;
constexpr std::size_t kOtherDescriptors = 200;
// Of those that a process had before, some may have been on their way out.
constexpr std::size_t kClosing = 8;
constexpr double kBack = 1.05;
constexpr harness::milliseconds kSettlePatience{1000};
constexpr harness::milliseconds kBackPatience{5000};

std::string proc(pid_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::size_t descriptors(pid_t pid) {
  const std::filesystem::directory_iterator files(proc(pid, "fd"));
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// Resident pages that are the process's own. Those of programs and libraries come in with the first
// use of their code, not with connections. Source: proc(5); exact, other than VmRSS, which the
// kernel keeps per CPU.
double own_bytes(pid_t pid) {
  std::ifstream rollup(proc(pid, "smaps_rollup"));
  std::string word;
  while (rollup >> word) {
    if (word == "Anonymous:") {
      double kibibytes = 0;
      rollup >> kibibytes;
      return kibibytes * 1024;
    }
  }
  throw std::runtime_error("no memory of process " + std::to_string(pid));
}

// Once it is the same for a while.
double still_bytes(pid_t pid) {
  constexpr int kSameTimes = 25;
  double last = 0;
  int same = 0;
  static_cast<void>(harness::eventually(
      [&] {
        const double now = own_bytes(pid);
        same = now == last ? same + 1 : 0;
        last = now;
        return same >= kSameTimes;
      },
      kSettlePatience));
  return last;
}

pid_t pid_of(const Target& target) {
  return target.proxy_pid().value_or(target.redis_pid());
}

class Connections {
 public:
  // Returns when the target, which had so many descriptors without them, has accepted all.
  Connections(const Target& target, std::size_t count, std::size_t descriptors_before) {
    const pid_t pid = pid_of(target);
    clients_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      clients_.push_back(target.client());
    }
    if (!harness::eventually(
            [&] { return descriptors(pid) + kClosing >= descriptors_before + count; })) {
      throw std::runtime_error(target.name() + " does not accept all connections");
    }
  }

  void use_each() {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      clients_[i].call({"GET", key(kFirstRow + i)});
    }
  }

  void burst_on_each() {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      std::string commands;
      for (std::size_t j = 0; j < kBurst; ++j) {
        commands += harness::command({"GET", key(kFirstRow + (i * kBurst + j) % kRows)});
      }
      clients_[i].send(commands);
    }
    for (RawClient& client : clients_) {
      client.read_replies(kBurst);
    }
  }

 private:
  std::vector<RawClient> clients_;
};

}  // namespace

bool has_descriptors_for(const TargetPlan& plan, std::size_t connections) {
  return connections * plan.sockets_per_client + kOtherDescriptors <=
         harness::raise_descriptor_limit();
}

Memory measure_memory(const Target& target, std::size_t connections, bool with_burst) {
  const pid_t pid = pid_of(target);
  const std::size_t descriptors_before = descriptors(pid);
  {
    // What is needed once, whoever comes first.
    Connections first(target, 2, descriptors_before);
    first.burst_on_each();
  }
  const double base = still_bytes(pid);
  const auto per_connection = [&](double bytes) {
    return (bytes - base) / static_cast<double>(connections);
  };
  Connections all(target, connections, descriptors_before);
  Memory memory{.target = target.name(), .connections = connections};
  memory.idle = per_connection(still_bytes(pid));
  all.use_each();
  memory.first_use = per_connection(still_bytes(pid));
  if (with_burst) {
    all.burst_on_each();
    memory.burst = per_connection(own_bytes(pid));
    static_cast<void>(harness::eventually(
        [&] { return per_connection(own_bytes(pid)) <= memory.first_use * kBack; }, kBackPatience));
    memory.settled = per_connection(own_bytes(pid));
  }
  return memory;
}

}  // namespace cuckooguard::bench
