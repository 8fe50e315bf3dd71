// The tables of the exactness test, the namespaces that guard them, and what a filter of each must
// be.
//
//   users, names   one table, two identities, both unique: deletes are trusted
//   items          a composite key: a negative number and bytes
//   tags           BINARY: zero bytes at the end, which the log leaves out
//   orders         an identity that many rows have, or none: deletes are deferred
//
// Threads: plain values; a session is its caller's.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "exactness/guarded_filters.h"
#include "harness/sql_server.h"

namespace cuckooguard::harness {

// Ids that writers use, and rows of `user` that nobody ever touches.
inline constexpr unsigned kIds = 300;
inline constexpr unsigned kStableFrom = 100'000;
inline constexpr unsigned kStableRows = 2000;

void create_tables(const SqlServer& server);
// A line of YAML for each, below `namespaces:`, with `from` as their source.
std::string namespaces_yaml();

const std::vector<GuardedTable>& guarded_tables();

// The namespaces of the YAML above, each with a live filter.
class ShopFilters final : public GuardedFilters {
 public:
  explicit ShopFilters(const filter::HashSecret& secret = filter::random_secret())
      : GuardedFilters(guarded_tables(), namespaces_yaml(), secret) {}

  // And keys pass that no row has. Commits something to a table that none of them guards.
  std::vector<std::string> differences(SqlSession& session);
};

// Asks without pause, as clients do, for rows that are always there.
class Asker {
 public:
  explicit Asker(GuardedFilters& guarded)
      : thread_([this, &guarded](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            for (unsigned i = 0; i < kStableRows; ++i) {
              const bool is_hidden = guarded.is_answered_absent(0, std::to_string(kStableFrom + i));
              hidden_ += is_hidden ? 1 : 0;
            }
            ++rounds_;
            std::this_thread::yield();
          }
        }) {}
  std::uint64_t hidden() const { return hidden_; }
  std::uint64_t rounds() const { return rounds_; }

 private:
  std::atomic<std::uint64_t> hidden_ = 0;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::jthread thread_;
};

}  // namespace cuckooguard::harness
