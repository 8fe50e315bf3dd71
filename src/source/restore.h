// Takes up tables where their checkpoints left them.
//
// The log is to be read from the oldest of their positions; a table whose file is of a later one skips
// what it has. Files that do not lie on one line (the log of another history) are left alone, as are
// those that checkpoint.h does not allow: these tables are read anew.
//
// Called by: LogFollower, at its first connection. Threads: the source's. Errors: MysqlError; whatever is
// wrong with a file is told to the observer.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "source/mysql_connection.h"
#include "source/storage_directory.h"
#include "source/table_set.h"

namespace cuckooguard::source {

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
