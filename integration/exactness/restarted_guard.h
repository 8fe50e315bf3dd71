// A guard that keeps checkpoints, as clients and operators see it, killed and started again while
// its database is written to.
//
//   start() ─▶ restart() … ─▶ (nobody writes) wrong() ─▶ restart() …
//
// Threads: the test's. Lifetimes: `guarded` outlives it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "exactness/guarded_filters.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

class RestartedGuard {
 public:
  struct Shop {
    std::string source;      // as Configuration::source
    std::string namespaces;  // likewise
    std::string users;       // the table of `user:{id}`, for SQL
    GuardedFilters::Ask ask;
    std::vector<std::string> nobodys;  // a key of each namespace that no row has
  };

  // `guarded`: for its keys alone.
  RestartedGuard(Shop shop, const GuardedFilters& guarded);

  void start();
  void restart();  // by SIGKILL
  // While nobody writes: keys of rows that are answered absent, keys of nobody that are not, and
  // checkpoints that have another number of entries than there are rows. Behind it another guard
  // runs.
  std::vector<std::string> wrong();

  // What there was to see.
  std::string text() const;

 private:
  bool is_absent(RawClient& client, const std::string& key) const;
  bool is_current() const;
  std::vector<std::string> hidden_keys();
  std::vector<std::string> wrong_checkpoints() const;

  Shop shop_;
  const GuardedFilters& guarded_;
  TemporaryDirectory kept_;
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
  unsigned kills_ = 0;
  unsigned read_anew_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace cuckooguard::harness
