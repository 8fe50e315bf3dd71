// The application: reads cache-aside, as most applications do, and caches "no such row" as most do.
//
//   GET key            a value: that is the row
//                      __ABSENT__: there is no such row
//                      nil: ask the database; SET key <row, or __ABSENT__> EX …
//
// It does not know whether it talks to Redis or to the guard, which answers a key that cannot exist
// with the application's own placeholder.
//
// Threads: an Application is one thread's; the pool, any. Lifetimes: the database outlives the
// pool, and the pool the applications. Errors: std::runtime_error; Unavailable is what a user of
// the application would see as an error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache.h"
#include "shop_database.h"

namespace cuckooguard::demo {

inline constexpr std::string_view kAbsentReply = "__ABSENT__";

// Its database can do so much and no more: kConnections / `query_time` queries per second. What the
// database of the demo takes less than `query_time`, the connection waits.
class ConnectionPool {
 public:
  static constexpr std::size_t kConnections = 10;
  static constexpr std::chrono::milliseconds kQueryTime{2};    // of most queries
  static constexpr std::chrono::milliseconds kPatience{1000};  // for a free connection

  ConnectionPool(const ShopDatabase& database, std::chrono::milliseconds query_time);

  std::optional<std::string> find(const Item& item);
  void insert(const Item& item);

  // The greatest number of queries at a time so far; those that wait for a connection count, too.
  std::size_t most_at_once();

 private:
  class Lease;

  const std::chrono::milliseconds query_time_;
  std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<std::unique_ptr<ShopConnection>> free_;
  std::size_t at_once_ = 0;
  std::size_t most_at_once_ = 0;
};

enum class Answer : std::uint8_t {
  found,
  absent,              // by a placeholder: Redis's, or the guard's
  absent_in_database,  // the database was asked in vain
};

class Application {
 public:
  static constexpr int kTtlSeconds = 300;
  static constexpr int kAbsentTtlSeconds = 60;

  Application(const Endpoint& cache, ConnectionPool& pool)
      : cache_(open_cache(cache)), pool_(pool) {}

  // Throws if what it finds is another row's.
  Answer look_up(const Item& item);
  void create(const Item& item) {
    ++queries_;
    pool_.insert(item);
  }

  std::uint64_t queries() const { return queries_; }  // to the database, so far

 private:
  std::unique_ptr<Cache> cache_;
  ConnectionPool& pool_;
  std::uint64_t queries_ = 0;
};

}  // namespace cuckooguard::demo
