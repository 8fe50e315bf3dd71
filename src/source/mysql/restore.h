// Takes up tables where their checkpoints left them.
//
// The log is to be read from the oldest of their positions; a table whose file is of a later one
// skips what it has. Files that do not lie on one line (the log of another history) are left alone,
// as are those that checkpoint.h does not allow: these tables are read anew.
//
// Threads: the source's. Errors: MysqlError; whatever is wrong with a file is told to the observer.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mysql/checkpoint.h"
#include "mysql/connection.h"
#include "mysql/log_position.h"
#include "mysql/table.h"
#include "mysql/table_set.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

// A server, where something is to go on that was followed to a position before.
struct Successor {
  std::string_view identity;  // server_identity()
  bool is_cluster;            // several addresses say that it is one of a cluster
  const LogPosition& position;
};
// Itself, or another one of the cluster, that has all of it: one that was made the primary without
// the last transactions has others in their place, and what a server has never had is of another
// history.
bool goes_on(const Successor& server, std::string_view followed, const LogPosition& position);

// A table that might be taken up.
struct Candidate {
  TableSet::Index index;
  MysqlTable plan;
  Checkpoint checkpoint;
};
// Leaves those that the server goes on with and that lie on one line. The oldest of their
// positions, if there are any.
std::optional<LogPosition> leave_resumable(std::vector<Candidate>& candidates,
                                           const Successor& server);

struct Restoring {
  std::string source;  // its name
  const StorageDirectory& directory;
  Observer& observer;
  std::string server;  // server_identity()
  bool is_cluster;     // a file of another server is as good
  std::chrono::nanoseconds max_lag;
};

// True if the set has begun, with at least one table in it.
std::expected<bool, MysqlError> restore(const Restoring& from,
                                        TableSet& tables,
                                        MysqlConnection& connection);

}  // namespace cuckooguard::source
