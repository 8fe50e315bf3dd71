// Debian's MariaDB as a server of the demo: empty, in the demo's directory, with its changes in a
// binary log by rows, and two accounts: the application's, and the guard's with the grants that the
// guard needs and no others.
//
// Threads: the main thread's. Errors: std::runtime_error, with the end of the server's log;
// Interrupted.
#pragma once

#include "mysql_users.h"
#include "servers.h"

namespace cuckooguard::demo {

class MariaDb {
 public:
  MariaDb(const TempDirectory& directory, const Interrupt& interrupt);

  MysqlLogin application() const { return login("application"); }
  MysqlLogin guard() const { return login("guard"); }

 private:
  MysqlLogin login(const std::string& account) const;

  Server server_;
};

}  // namespace cuckooguard::demo
