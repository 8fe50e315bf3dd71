// What applications do to the tables of the exactness test, from several connections at once, from
// a seed.
//
//   Writers ─ resume() ─▶ each writes … ─ pause() ─▶ quiet: all have answered, nothing is under way
//
// Deadlocks, taken keys and a server that is gone are their everyday life; a statement whose answer
// was lost may have been done or not.
//
// Threads: one each; pause(), resume() and the destructor from the test's. XA transactions are
// prepared on one connection and ended on another. `kill_gate` is held in common while that
// happens: a server that is killed in the middle may itself disagree with its log (MariaDB's XA
// PREPARE is not crash-safe with a binary log).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/sql_server.h"

namespace cuckooguard::harness {

// Whether what was prepared by a connection that is closed may be ended. MariaDB logs XA COMMIT of
// a transaction that InnoDB has not yet taken from its connection, says OK, and does not commit it:
// log and tables differ from then on.
bool is_left(SqlSession& session, const std::string& connection);

class Writers {
 public:
  Writers(const SqlServer& server, std::uint32_t seed, unsigned count);
  ~Writers();  // what is prepared stays so
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  void resume();
  void pause();
  // While paused: what is prepared holds locks that others would wait for.
  void roll_back_prepared(SqlSession& session);

  // Those that the server has and no writer knows of are ended by them, too.
  void adopt_prepared(SqlSession& session);
  // Whatever could keep them from writing, for who reads of a test that has failed.
  std::string in_the_way() const;

  std::uint64_t transactions() const { return transactions_; }  // that were answered with success
  std::uint64_t xa_ended() const { return xa_ended_; }
  std::shared_mutex& kill_gate() { return kill_gate_; }

 private:
  friend class Writer;

  void wait_for_turn(const std::stop_token& stop);
  bool has_prepared();
  void put_back(const std::string& xid);
  std::optional<std::string> take_prepared(unsigned pick);

  const SqlServer& server_;
  std::shared_mutex kill_gate_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_paused_ = true;
  std::size_t paused_ = 0;
  std::vector<std::string> prepared_;  // XA transactions without a connection
  std::atomic<std::uint64_t> transactions_ = 0;
  std::atomic<std::uint64_t> xa_ended_ = 0;
  std::atomic<std::uint64_t> xa_numbers_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace cuckooguard::harness
