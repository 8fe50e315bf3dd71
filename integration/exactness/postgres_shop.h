// The exactness test on PostgreSQL: its tables, what applications do to them, what befalls the
// server and whoever follows it, from a seed.
//
//   users, names   one table, two identities, both unique: deletes are trusted
//   items          a composite key: a negative number and text; in a replica identity by itself
//   orders         an identity that many rows have, or none: REPLICA IDENTITY FULL
//   events         partitioned by its key; partitions come, go and are attached with rows
//
// Threads: writers one each; the rest is the test's. Writers that are in a server's way are
// everyday life: errors are ignored, lost sessions opened anew.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "exactness/guarded_filters.h"
#include "exactness/reports.h"
#include "harness/postgres_server.h"
#include "postgres/log_follower.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"

namespace cuckooguard::harness {

// Tables, a publication and an account for the guard, with rows that nobody ever touches.
void create_postgres_shop(PostgresServer& server);
// Ids of those rows, in `user`.
inline constexpr unsigned kPostgresStableFrom = 100'000;
inline constexpr unsigned kPostgresStableRows = 2000;

std::string postgres_namespaces_yaml();
std::vector<GuardedTable> postgres_tables();

class PostgresWriters {
 public:
  PostgresWriters(const PostgresServer& server, std::uint32_t seed, unsigned count);
  ~PostgresWriters();
  PostgresWriters(const PostgresWriters&) = delete;
  PostgresWriters& operator=(const PostgresWriters&) = delete;

  void resume();
  void pause();  // until all have answered, and nothing is under way
  std::uint64_t transactions() const { return transactions_; }  // that were answered with success

 private:
  void run(std::uint32_t seed, const std::stop_token& stop);
  void wait_for_turn(const std::stop_token& stop);
  std::optional<PostgresSession> open_session(bool commits_asynchronously) const;
  // The session goes if it is lost.
  bool attempt(std::optional<PostgresSession>& session, const std::string& sql);

  const PostgresServer& server_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_paused_ = true;
  std::size_t paused_ = 0;
  std::atomic<std::uint64_t> transactions_ = 0;
  std::atomic<std::uint64_t> prepared_ = 0;
  std::vector<std::jthread> threads_;
};

// The product's follower, on a thread of its own in the test's process.
class PostgresShopFollower {
 public:
  static constexpr std::chrono::milliseconds kMaxLag{500};

  // `storage`: null: none, and a slot that ends with the session.
  PostgresShopFollower(const PostgresServer& server,
                       GuardedFilters& guarded,
                       const source::StorageDirectory* storage = nullptr,
                       source::postgres::OpenView open_view = source::postgres::open_view,
                       std::chrono::milliseconds max_lag = kMaxLag);
  std::string reports() const { return reports_.last(); }

 private:
  Reports reports_;
  source::SourceThread thread_;
};

class PostgresChaos {
 public:
  PostgresChaos(PostgresServer& server, PostgresWriters& writers, std::uint32_t seed)
      : server_(server), writers_(writers), random_(seed) {}

  // One thing that happens. Not all of them succeed.
  void happen();
  // False: the writers are stuck.
  [[nodiscard]] bool let_write(unsigned transactions);
  const std::map<std::string, unsigned>& counts() const { return counts_; }
  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }

 private:
  void run(const std::string& name, const std::string& sql);
  void restart(bool is_killed);
  void change_definition();
  void change_partitions();
  void lose_slots();

  PostgresServer& server_;
  PostgresWriters& writers_;
  std::mt19937 random_;
  std::map<std::string, unsigned> counts_;
  unsigned next_partition_ = 4;
  std::vector<unsigned> detached_;
};

}  // namespace cuckooguard::harness
