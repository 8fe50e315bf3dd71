// What the programs of `./dev bench` that need real servers share: a database, a Redis, and guards
// of one table.
//
// Threads: one. Errors: std::runtime_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/configuration.h"
#include "harness/guard_process.h"
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
  std::string consistency = harness::consistency();
};

// Of `users`: 1, 2 ...; or the same as a UUID, 36 characters.
enum class Ids : std::uint8_t { numbers, text };

double milliseconds_since(harness::SteadyClock::time_point begin);

class BenchShop {
 public:
  virtual ~BenchShop() = default;
  BenchShop(const BenchShop&) = delete;
  BenchShop& operator=(const BenchShop&) = delete;

  // --- the database ---
  virtual std::string_view name() const = 0;
  virtual void run(const std::string& sql) = 0;           // always on the same session
  virtual std::string value(const std::string& sql) = 0;  // of the first row
  virtual std::string position() = 0;                     // of its log, behind the last commit
  // `users`, with these ids; nobody follows yet.
  virtual void create_users(std::uint64_t rows, Ids ids) = 0;
  void insert_users(std::uint64_t first, std::uint64_t last);
  // What SQL selects a column `seq` from.
  virtual std::string numbers(std::uint64_t first, std::uint64_t last) const = 0;
  // Seconds that all ids take the database's own client, which writes them to /dev/null.
  double client_seconds() const { return seconds_of(client()); }
  // Seconds that what `change` puts into the log takes the database's own client for that; nothing:
  // there is none.
  virtual std::optional<double> log_client_seconds(const std::function<void()>& change) = 0;
  // Of CPU, of the threads that live.
  double cpu_seconds() const;
  // The guard has read the log; another one in its place will not find the server read it again.
  virtual void forget_log(const harness::GuardProcess& guard) = 0;

  // --- guards ---
  // Keys are `user:{id}`, from column `id`. `program`: the guard, or what runs it.
  harness::GuardProcess guard(const Guarded& guarded,
                              const std::string& program = harness::guard_binary()) const;
  harness::GuardProcess guard_of_nothing() const;

  std::filesystem::path folder(std::string_view name) const { return folder_ / name; }

 protected:
  BenchShop() = default;
  struct Id {
    std::string type = "BIGINT";
    std::string key = "user:{id:uint64}";
    std::string value = "seq";  // in SQL, of a `seq`
  };
  // `text`: its type and its key.
  void create_empty_users(Ids ids, const Id& text);
  // Whose output goes to /dev/null.
  double seconds_of(std::vector<std::string> program) const;

 private:
  virtual std::vector<std::string> client() const = 0;  // that reads all ids
  virtual std::vector<pid_t> processes()
      const = 0;  // the server's, those that others came from first
  virtual std::string source(harness::milliseconds max_lag) const = 0;

  Id id_;
  harness::RedisServer redis_;
  harness::TemporaryDirectory folder_;
};

enum class Database : std::uint8_t { mariadb, postgres };
// `is_large`: the server has memory for some 20 million rows.
std::unique_ptr<BenchShop> make_shop(Database database, bool is_large);

// `user:<id>`, for a row that is not there: the guard has read all rows, and has proof that it is
// not behind.
void wait_until_absent(const harness::GuardProcess& guard, std::uint64_t id);
bool is_absent(harness::RawClient& client, std::uint64_t id);
// Of GUARD.INFO users.
std::uint64_t info_number(const harness::GuardProcess& guard, const std::string& field);

}  // namespace cuckooguard::bench
