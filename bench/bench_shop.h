// What the programs of `./dev bench` that need real servers share: a MariaDB, a Redis, and guards
// of one table.
//
// Threads: one. Errors: std::runtime_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::bench {

inline constexpr harness::milliseconds kMaxLag{1000};

struct Guarded {
  std::string table;
  std::string filter = {};      // as harness::Guarded's
  std::string fresh_ids = "0";  // every new row takes the way of the log
  std::string storage = {};     // a folder; empty: nothing is kept
  harness::milliseconds max_lag = kMaxLag;
};

double milliseconds_since(harness::SteadyClock::time_point begin);

class BenchShop {
 public:
  // The server's own arguments.
  explicit BenchShop(const std::vector<std::string>& arguments);

  harness::SqlSession session() const { return server_.session(); }
  // Seconds that `sql` takes MariaDB's own client, which writes the rows to /dev/null.
  double client_seconds(const std::string& sql) const;

  // Keys are `user:{id}`, from column `id`.
  harness::GuardProcess guard(const Guarded& guarded) const;
  harness::GuardProcess guard_of_nothing() const;

  std::filesystem::path folder(std::string_view name) const { return folder_ / name; }

 private:
  harness::MariaDbServer server_;
  harness::RedisServer redis_;
  harness::TemporaryDirectory folder_;
};

// `user:<id>`, for a row that is not there: the guard has read all rows, and has proof that it is
// not behind.
void wait_until_absent(const harness::GuardProcess& guard, std::uint64_t id);
bool is_absent(harness::RawClient& client, std::uint64_t id);
// Of GUARD.INFO users.
std::uint64_t info_number(const harness::GuardProcess& guard, const std::string& field);

}  // namespace cuckooguard::bench
