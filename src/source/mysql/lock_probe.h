// Whether somebody waits for a lock on a table that a load holds by reading it.
//
// A transaction keeps a metadata lock on what it has read until it ends. An ALTER waits for it, and
// all who come later wait for the ALTER, readers too: an application stands still for as long as a
// load takes. Who waits is not shown to an account with our rights. But a reader that would not
// wait is refused at once: that is how it is asked here, on a connection of its own, with a
// statement that reads no row.
//
// Threads: its own. Errors: none; who cannot ask hears of nobody, and asks again later. Limits:
// asks once each kEvery, not before a load has lasted so long; MySQL lets it wait no less than a
// second.
// Source: MDL priorities of MariaDB 10.11 (a pending exclusive lock goes before new shared ones),
// seen with ALTER TABLE.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "mysql/connection.h"
#include "mysql/table.h"
#include "source/source.h"

namespace cuckooguard::source {

class LockProbe {
 public:
  static constexpr std::chrono::seconds kEvery{1};

  // `identity`: of the server that is read, server_identity().
  LockProbe(MysqlLogin login, std::string identity, Clock clock);

  bool is_due() const { return clock_() >= next_; }
  bool is_somebody_waiting(const MysqlTable& table);

 private:
  bool is_connected();

  MysqlLogin login_;
  std::string identity_;
  Clock clock_;
  TimePoint next_;
  std::optional<MysqlConnection> connection_;
};

}  // namespace cuckooguard::source
