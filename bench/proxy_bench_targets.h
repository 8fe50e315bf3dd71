// What redis-benchmark is pointed at: Redis itself, and proxies in front of it.
//
// Threads: one, which starts them (harness/child_process.h). Errors: std::runtime_error.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "harness/child_process.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"
#include "proxy_bench_load.h"
#include "proxy_bench_results.h"

namespace cuckooguard::bench {

enum class Kind : std::uint8_t { direct, guard, twemproxy, haproxy };

struct TargetPlan {
  std::string_view name;
  Kind kind;
  std::string_view mode = {};       // of a guard: upstream.mode
  bool is_upstream_unix = false;    // of a guard: how it reaches Redis
  unsigned sockets_per_client = 1;  // at most, in its process
  bool is_tls = false;              // the load speaks TLS
  bool is_unix = false;             // the load comes by a Unix socket
  bool is_upstream_tls = false;     // and so does a guard with Redis
};

// Those that cannot be started are left out, with a line that says why.
inline constexpr std::array kTargetPlans{
    TargetPlan{.name = kDirect, .kind = Kind::direct},
    TargetPlan{.name = kPinned, .kind = Kind::guard, .mode = "pinned", .sockets_per_client = 2},
    TargetPlan{.name = kPinnedUnix,
               .kind = Kind::guard,
               .mode = "pinned",
               .is_upstream_unix = true,
               .sockets_per_client = 2},
    TargetPlan{.name = kShared, .kind = Kind::guard, .mode = "shared"},
    TargetPlan{.name = kUnixClients, .kind = Kind::guard, .mode = "shared", .is_unix = true},
    TargetPlan{.name = kTwemproxy, .kind = Kind::twemproxy},
    TargetPlan{.name = kHaproxy, .kind = Kind::haproxy, .sockets_per_client = 2},
};

// `--tls`: what TLS costs, the guard's beside Redis's own.
inline constexpr std::array kTlsTargetPlans{
    TargetPlan{.name = kDirect, .kind = Kind::direct},
    TargetPlan{.name = kDirectTls, .kind = Kind::direct, .is_tls = true},
    TargetPlan{.name = kShared, .kind = Kind::guard, .mode = "shared"},
    TargetPlan{.name = kSharedTls, .kind = Kind::guard, .mode = "shared", .is_tls = true},
    TargetPlan{.name = kSharedTlsBoth,
               .kind = Kind::guard,
               .mode = "shared",
               .is_tls = true,
               .is_upstream_tls = true},
    TargetPlan{.name = kPinnedTlsBoth,
               .kind = Kind::guard,
               .mode = "pinned",
               .sockets_per_client = 2,
               .is_tls = true,
               .is_upstream_tls = true},
    TargetPlan{.name = kHaproxyTls, .kind = Kind::haproxy, .sockets_per_client = 2, .is_tls = true},
};

// Redis with every row's key, and the rows for the guard in a file; on a second port it speaks TLS.
class BenchRedis {
 public:
  BenchRedis();

  const harness::RedisServer& server() const { return server_; }
  std::filesystem::path rows_file() const { return folder_ / "rows"; }
  std::uint16_t tls_port() const { return tls_port_; }
  std::string certificate_file(std::string_view name) const { return folder_ / name; }

 private:
  std::vector<std::string> arguments() const;

  harness::TemporaryDirectory folder_;
  std::uint16_t tls_port_;
  harness::RedisServer server_;
};

// Another proxy, of Debian's. HAProxy speaks TLS on a second port.
class OtherProxy {
 public:
  OtherProxy(Kind kind, const BenchRedis& redis);

  std::uint16_t port() const { return port_; }
  std::uint16_t tls_port() const { return tls_port_; }
  pid_t pid() const { return process_->pid(); }

 private:
  bool start(Kind kind, const BenchRedis& redis);  // false if it does not listen

  std::unique_ptr<harness::TemporaryDirectory> directory_;
  std::uint16_t port_ = 0;
  std::uint16_t tls_port_ = 0;
  std::unique_ptr<harness::ChildProcess> process_;
};

// Started, and shown to be right: a row's key has its value, an absent one has none; of a guard,
// absent keys do not reach Redis. `redis` must live longer.
class Target {
 public:
  Target(const TargetPlan& plan, const BenchRedis& redis);

  const TargetPlan& plan() const { return plan_; }
  std::string name() const { return std::string(plan_.name); }
  std::uint16_t port() const;
  Loaded loaded() const;
  std::optional<pid_t> proxy_pid() const;  // nothing of direct
  pid_t redis_pid() const { return redis_.server().pid(); }
  // In plain bytes: to a guard with TLS through a tunnel, to others without any.
  harness::RawClient client() const;

 private:
  void start_guard();
  void check_replies() const;
  void check_absent_keys_are_stopped() const;

  TargetPlan plan_;
  const BenchRedis& redis_;
  std::optional<harness::GuardProcess> guard_;
  std::optional<OtherProxy> other_;
};

}  // namespace cuckooguard::bench
