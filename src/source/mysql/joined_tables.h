// Which tables follow a log, and since when.
//
//   join() ─▶ joining ─ admit(), between two transactions ─▶ there ─▶ leave()
//
// Each admission has a number, so that it can be told whether a table was there when something was
// read.
//
// Threads: the source's, under the follower's lock. Lifetimes: tables outlive it, or leave().
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mysql/followed_table.h"

namespace cuckooguard::source {

class JoinedTables {
 public:
  void join(FollowedTable& table) { joining_.push_back(&table); }
  void admit();
  void leave(FollowedTable& table);

  // Those that are there, as they are now: what is done to them may make some leave.
  std::vector<FollowedTable*> all() const { return tables_; }
  bool has(const FollowedTable& table) const { return joined_at_.contains(&table); }
  // The number of the last admission.
  std::uint64_t joins() const { return joins_; }
  // The number of its own; 0: it is not there.
  std::uint64_t join_of(const FollowedTable& table) const;

  // A snapshot of the table is still to come.
  void begin_waiting(FollowedTable& table) { waiting_.push_back(&table); }
  void end_waiting(FollowedTable& table) { std::erase(waiting_, &table); }
  bool is_waiting(const FollowedTable& table) const;

 private:
  std::vector<FollowedTable*> tables_;
  std::vector<FollowedTable*> joining_;
  std::vector<FollowedTable*> waiting_;
  std::uint64_t joins_ = 0;
  std::map<const FollowedTable*, std::uint64_t> joined_at_;
};

}  // namespace cuckooguard::source
