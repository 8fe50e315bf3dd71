// A fleet in virtual time: a database, two builders, two Redis servers of which one is the master,
// followers, and an adversary who may write to Redis. One actor after the other does one thing, as
// chance has it.
//
//   chaos     everything fails that can: kill -9, failovers that lose the end, a demoted master
//             that still answers, FLUSHALL, backups restored, entries removed, swapped, forged,
//             replayed
//   calm      nothing does: every follower must enforce again, and have all rows
//
// Held at every step: a row that was committed more than max_lag ago is in the filter of every
// follower that enforces; and with each proof, all that was committed before its question.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/publisher.h"
#include "fleet/replica.h"
#include "simulation/random.h"

namespace cuckooguard::fleet {

struct FleetOutcome {
  std::string failure;
  std::uint64_t checks = 0;  // of followers that enforce
  std::uint64_t entries = 0;
  std::uint64_t takeovers = 0;
  std::uint64_t beginnings = 0;
  std::uint64_t breaks = 0;
};

class FleetWorld {
 public:
  using Time = std::int64_t;  // microseconds
  static constexpr std::uint32_t kTables = 2;
  static constexpr TableId kNone = 0;
  static constexpr std::size_t kRows = 40;
  static constexpr std::size_t kFollowers = 4;
  static constexpr std::size_t kBuilders = 2;
  static constexpr std::size_t kFast = 40;
  static constexpr Time kMaxLag = 1'000'000;
  static constexpr Time kTakesOverAfter = 800'000;
  static constexpr Time kChaos = 5'000'000;
  static constexpr Time kCalm = 4'000'000;

  FleetWorld(std::uint64_t seed, const SigningKey& key, const VerifyingKeys& keys);

  FleetOutcome run();

 private:
  using Rows = Hashes;
  using Filter = std::map<TableId, Rows>;

  struct Transaction {
    std::vector<std::uint64_t> inserted;
    std::vector<std::uint64_t> deleted;
  };
  struct Redis {
    struct Meta {
      std::uint64_t epoch = 0;
      std::uint64_t seq = 0;
      std::string tag;
    };
    std::optional<Meta> meta;
    std::map<std::uint64_t, std::string> log;
    std::string manifest;
    std::map<std::string, std::string> asks;
    std::map<std::string, std::string> answers;
  };
  struct Checkpoint {
    std::size_t applied = 0;
    Rows rows;
  };
  struct Builder {
    std::string name;
    std::unique_ptr<Publisher> publisher;  // null: it is dead
    Time back_at = 0;
    std::size_t node = 0;  // the Redis that it takes for the master
    std::size_t applied = 0;
    Filter filter;
    std::map<TableId, std::size_t> since;  // what is in a table's filter from before
    std::map<TableId, bool> is_out_of_step;
    std::deque<std::uint64_t> to_erase;
    std::map<TableId, Checkpoint> checkpoints;
    std::map<TableId, fleet::Snapshot> snapshots;  // those that can be had
    std::map<TableId, Time> cut_at;
    std::deque<std::pair<Time, std::uint64_t>> oldest{};  // that manifests needed
    std::uint64_t trims_to = 0;
    struct Question {
      Time at;
      std::optional<std::size_t> shown;  // where the log was
    };
    std::optional<Question> question;
    // As one that follows the log.
    std::unique_ptr<Chain> chain;
    std::uint64_t seen_seq = 0;
    std::uint64_t seen_epoch = 0;
    Time seen_at = 0;
    Time said_at = 0;
    Time manifest_at = 0;
  };
  struct Follower {
    std::string name;
    std::size_t node = 0;
    std::unique_ptr<OwnQuestions> questions{};
    std::unique_ptr<Replica> replica;  // null: it has nothing
    Filter filter;
    std::map<TableId, Time> fresh_until;
    TableId lacks = kNone;
    double rate = 1;  // of its clock
  };

  Redis& node_of(std::size_t node) { return nodes_[node]; }
  std::uint64_t hash_of_row(std::size_t row) const { return hashes_[row]; }
  static TableId table_of(std::uint64_t hash) { return 1 + hash % kTables; }
  TimePoint point(Time at) const { return TimePoint(std::chrono::microseconds(at)); }
  std::string random_bytes(std::size_t count);
  const Manifest* manifest_of(const Redis& redis);  // null: there is none

  void step();
  void commit();
  void act(Builder& builder);
  void start(Builder& builder);
  void apply(Builder& builder);
  void erase(Builder& builder);
  void ask_database(Builder& builder);
  void prove(Builder& builder);
  void keep(Builder& builder);
  void read_anew(Builder& builder);
  void publish(Builder& builder);
  void append(Builder& builder, const Publisher::Draft& draft);
  void cut(Builder& builder);
  void renew_manifest(Builder& builder);
  void mistake(Redis& redis, const std::string& bytes);
  void follow_log(Builder& builder);
  void read_log(Builder& builder);
  void take_over(Builder& builder);
  void begin_anew(Builder& builder);
  void act(Follower& follower);
  void begin(Follower& follower);
  void load_tables(Follower& follower);
  std::optional<Rows> load(const Follower& follower, const Snapshot& snapshot);
  void read(Follower& follower);
  void ask(Follower& follower);
  void prove(Follower& follower);
  void take(Follower& follower, const Entry& entry);
  static void apply(const TableChange& change, Rows& rows);
  void lose(Follower& follower);
  void fail();
  void attack();
  void attack_log(Redis& redis);
  void forge_answer(Redis& redis);
  void forge_entry(Redis& redis);
  void check();
  void check_strict(const Follower& follower, TableId table, Time asked);
  void check_calm();
  Digest digest_of(const Rows& rows) const;
  bool is_calm() const { return now_ >= kChaos; }
  void note(const std::string& failure) {
    if (outcome_.failure.empty()) {
      outcome_.failure = failure;
    }
  }

  simulation::Random random_;
  const SigningKey& key_;
  const VerifyingKeys& keys_;
  bool has_adversary_;
  bool has_failovers_;
  std::size_t transactions_max_;  // that a builder applies at once,
  std::size_t operations_max_;    // and of an entry
  FleetOutcome outcome_;
  Time now_ = 0;
  std::vector<std::uint64_t> hashes_;
  std::vector<Transaction> log_;
  std::map<std::uint64_t, Time> rows_;  // committed when
  std::vector<Redis> nodes_{2};
  std::size_t master_ = 0;
  std::vector<Redis> backups_;
  std::map<std::uint64_t, std::vector<std::string>> archive_;  // all entries that there were
  std::map<std::string, Rows> files_;                          // of snapshots, by name
  std::map<std::string, std::optional<Manifest>> manifests_;   // that were read
  std::vector<Builder> builders_;
  std::vector<Follower> followers_;
};

}  // namespace cuckooguard::fleet
