// The demo's load: users, and an attacker with random ids, send requests to an application server,
// at their own pace, whether or not it keeps up.
//
//   users    look up rows that exist, most of them popular ones; now and then create a row, and
//            read it at once
//   attack   looks up random ids, of which no row exists
//      └─▶ a queue of kQueueMax requests ─▶ the clients' threads ─▶ Redis, or the guard
//                                                └─▶ the pool's connections ─▶ the database
//
// A request that finds the queue full, or no connection of the pool, or no Redis, has failed. It
// takes as long as from when it was due until it is answered.
//
// Threads: run() is the main thread's, where changes run as well; it starts and joins the others.
// Errors: std::runtime_error, Interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "application.h"
#include "endpoint.h"
#include "progress_line.h"
#include "shop_database.h"

namespace cuckooguard::demo {

struct Mix {
  std::uint64_t seed = 1;
  std::uint64_t users = 1'000'000;  // ids 1 to users exist
  // Per second.
  double lookups = 1'000;
  double attack = 10'000;
  double new_rows = 20;
  std::uint64_t rows = 0;  // look-ups are of the users 1 to `rows`, each as often; 0: of all rows
  std::size_t clients = 200;  // the application's threads, each with its connection to Redis
  std::chrono::milliseconds query_time = ConnectionPool::kQueryTime;
};

enum class Kind : std::uint8_t { lookup, new_row, attack };
enum class Outcome : std::uint8_t { good, hidden, failed };

// One request.
struct Sample {
  Kind kind = Kind::lookup;
  Outcome outcome = Outcome::good;
  std::uint8_t queries = 0;          // to the database
  std::uint8_t queries_in_vain = 0;  // of them for a row that does not exist
  float answered_at = 0;             // seconds since the demo's first request
  float took_ms = 0;
};

// Something that is done to the servers; returns when it is over.
struct Change {
  std::string what;
  std::function<void()> run;
};

struct Phase {
  std::string name;
  Endpoint cache;     // where the application connects: Redis or the guard
  double attack = 0;  // look-ups per second
  std::chrono::milliseconds length{0};
  std::vector<Change> changes{};  // in turn, from a third of its length on; it waits for them
};

class Load {
 public:
  static constexpr std::size_t kQueueMax = 1'000;

  Load(const ShopDatabase& database, const Mix& mix, ProgressLine& progress);

  // All requests of the phase, also those that it has left in the queue.
  std::vector<Sample> run(const Phase& phase);
  std::size_t most_queries_at_once() { return shared_.pool.most_at_once(); }  // so far

  // Of all phases.
  struct Shared {
    const Mix mix;
    ProgressLine& progress;
    ConnectionPool pool;
    std::atomic<std::uint64_t> largest_user;
    std::chrono::steady_clock::time_point began_at{};
  };

 private:
  Shared shared_;
  std::uint64_t phases_ = 0;
};

}  // namespace cuckooguard::demo
