// One namespace that is loaded from a snapshot and then follows a log: where the rows of both become the
// same hashes.
//
// A row counts if the namespace's condition holds for it and its identity has no NULL; its key must lead back to it (keyspace). What is wrong with a row, in a snapshot or in the log, makes the namespace unsynced, with
// the row named.
//
// Called by: the follower of a server (load_row, while it reads a snapshot) and LogApplier (RowTarget).
// Threads: the source's. Lifetimes: the feed and the plan outlive it. Errors: sentences. A filter that is
// full, or that should erase what it does not have, disagrees with the log: the table must be read again.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "keyspace/identity_buffer.h"
#include "source/feed.h"
#include "source/followed_table.h"

namespace cuckooguard::source {

class LogFeed final : public RowTarget {
 public:
  LogFeed(Feed& feed, const MysqlTable& plan);

  // A row of a snapshot, its values in the order of MysqlTable::needed().
  Feed::Intake load_row(RowValues values);

  std::expected<Transaction::Image, std::string> image(RowValues values) override;
  std::expected<void, std::string> change(const Transaction& transaction) override;

  // The filter still does its work, but wastes room: many rows have gone that it could not forget
  // (`deferred`), or it is nearly full. Asked after changes; no more often than tables can be read.
  bool wants_rebuild() const;

 private:
  bool counts(RowValues values) const { return plan_.condition.holds(values, condition_places_); }
  RowValues identity(RowValues values) const { return values.first(plan_.identity.size()); }

  Feed& feed_;
  const MysqlTable& plan_;
  std::vector<std::size_t> condition_places_;  // in a row, as plan_.condition.columns()
};

}  // namespace cuckooguard::source
