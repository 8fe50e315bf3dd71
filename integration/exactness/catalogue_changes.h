// Changes of a catalogue, there and back, from a seed: DDL, rights and settings, in transactions
// and outside of them, rows before, between and behind them, the follower stopped and resumed. None
// of it may hide a row, and when all is as it was the filters are the tables.
//
//   round    steps ─▶ what has gone there comes back ─▶ the filters are the tables
//   step     a change goes there, or comes back; rows; a transaction begins or ends; the follower
//            stops, or goes on from its checkpoint; the server ends. Behind each: whatever SQL
//            finds under the names of the configuration is not answered absent
//
// One thread and two sessions, so that a seed replays all but how far the follower had come.
//
// Threads: the test's. Errors: sentences. Limits: a change that does not come back has all made
// anew, which is a change as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "exactness/guarded_filters.h"
#include "harness/deadline.h"
#include "source/source.h"

namespace cuckooguard::harness {

// SQL; several statements in one string are one transaction where the server knows that.
struct Change {
  const char* name;
  std::string there;
  std::string back;
};

struct Catalogue {
  bool rolls_back;  // the server takes changes back with their transaction; else each is for good
  std::vector<std::string> create;  // anew, whatever is there
  // At the end of a round: what came back has come back to another table, of its name then.
  std::vector<std::string> mend;
  std::vector<Change> changes;
  std::vector<std::string> rows;  // {n}, {m}: numbers. Of names that may not be there just now
  // To a table that nobody guards: MariaDB shows the last commits of a file of its log only by
  // those that follow. Empty: they are shown by themselves.
  std::string commit{};
};

// A server, and the product's follower of it.
class ChangedServer {
 public:
  static constexpr milliseconds kMaxLag{60};
  static constexpr std::size_t kSessions = 2;

  ChangedServer() = default;
  virtual ~ChangedServer() = default;
  ChangedServer(const ChangedServer&) = delete;
  ChangedServer& operator=(const ChangedServer&) = delete;

  // False: it refuses. Who waits for a lock for long is refused.
  virtual bool run(std::size_t session, const std::string& sql) = 0;
  // Its sessions' transactions end with it.
  virtual void restart(bool is_killed) = 0;
  // From a session of its own; nothing: it refuses.
  virtual std::optional<GuardedFilters::Rows> ask(const std::string& sql) = 0;
  // It takes up its checkpoints, if it has any.
  virtual void follow() = 0;
  virtual void stop_following() = 0;
  virtual std::string reports() const = 0;
};

class CatalogueChanges {
 public:
  CatalogueChanges(const Catalogue& catalogue,
                   ChangedServer& server,
                   GuardedFilters& guarded,
                   std::uint32_t seed);

  // What is wrong, with all that was done in this round; nothing: all is as it must be.
  std::vector<std::string> round();
  std::string counts() const;  // of what was done

 private:
  struct Transaction {
    std::vector<const Change*> applied;  // before it
  };

  void step();
  void go_there();
  void come_back(std::size_t which);
  void there_and_back();
  void write();
  void begin_or_end(std::size_t session);
  void end(std::size_t session, bool commits);
  void forget_rolled_back();
  void stop_or_follow();
  void restart();
  bool change(std::size_t session, const std::string& name, const std::string& sql);
  void undo_all();
  void look();
  bool is_current(SteadyClock::time_point since);
  std::vector<std::string> end_of_round();
  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
  void note(const std::string& name, bool has_happened, const std::string& sql);

  const Catalogue& catalogue_;
  ChangedServer& server_;
  GuardedFilters& guarded_;
  std::mt19937 random_;
  bool is_followed_ = true;
  std::vector<const Change*> applied_;  // in their order
  std::array<std::optional<Transaction>, ChangedServer::kSessions> open_;
  std::string steps_;
  std::vector<std::string> wrong_;
  std::map<std::string, unsigned> counts_;
};

enum class Published : std::uint8_t {
  schema,   // what is in it, without a word when it goes and comes
  tables,   // each by its name
  columns,  // those that are needed, where rows are not logged whole
};
Catalogue postgres_catalogue(Published published);

Catalogue sql_catalogue(bool is_mariadb);

// What is guarded of either. `has_parts_of_life`: several rows of `life` may have one id.
std::vector<GuardedTable> catalogue_tables(bool has_parts_of_life);
std::string catalogue_yaml();  // namespaces

}  // namespace cuckooguard::harness
