// An unmodified cache-aside application of this folder, a Redis, and a guard between them or none:
// what its database is asked when rows expire in the cache.
//
// Threads: the test's main thread. Errors: std::runtime_error.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "breakdown/herd.h"
#include "harness/child_process.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

struct Application {
  std::string name;
  std::vector<std::string> program;  // followed by the ports of Redis and of the herd,
  std::vector<std::string> size;     // and by how many clients it has, and how many connections
  std::size_t clients = 0;
  std::string key_prefix = "user:";  // before the id

  friend void PrintTo(const Application& application, std::ostream* out) {
    *out << application.name;
  }
};

// Pooled: each connection has one command in flight. With so many clients.
Application python_redis(std::size_t clients, std::size_t pool);
Application django(std::size_t clients);
Application hiredis(std::size_t clients);
Application phpredis(std::size_t clients);
Application laravel(std::size_t clients);
Application rails(std::size_t processes, std::size_t threads);
// Multiplexing: all clients have one connection.
Application ioredis(std::size_t clients);
Application node_redis(std::size_t clients);
// It loads rows, and never caches them.
Application never_sets(std::size_t clients);

// What it needs and is not here.
std::optional<std::string> missing_for(const Application& application);

// Rows 1 to kHerdRows are there.
inline constexpr std::uint64_t kHerdRows = 10'000;
inline constexpr std::uint64_t kHotRow = 7;

struct Guarding {
  std::string breakdown;  // the namespace's: "{ hold: 100ms }"; empty: no guard
  std::string mode = "pinned";
};

struct Loading {
  milliseconds time{50};
  std::size_t at_a_time = 0;  // as Herd's
};

class CachedApplication {
 public:
  // Returns when all clients are ready, and each connection has been used.
  CachedApplication(Application application, const Guarding& guarding, Loading loading = Loading());

  // The hot row expires, and all clients, or so many of them, look it up.
  Herd::Round expire();
  Herd::Round expire(std::size_t lookups);
  // So many times, as if it were one round, but for `total_ms`, which is the mean.
  Herd::Round expire_again_and_again(std::size_t rounds);
  // Redis crashes and comes back empty. Then clients look up rows 1 to `rows`, each of them twice,
  // on connections that were lost.
  Herd::Round restart_redis(std::uint64_t rows);

  Herd& herd() { return herd_; }
  // A number in the guard's GUARD.INFO.
  std::uint64_t info(const std::string& field) const;

 private:
  std::uint16_t port() const { return guard_ ? guard_->port() : redis_.port(); }
  std::vector<std::string> command() const;

  const Application application_;
  TemporaryDirectory directory_;
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
  Herd herd_;
  std::optional<ChildProcess> program_;
};

}  // namespace cuckooguard::harness
