#include "mysql/lock_probe.h"

#include <utility>

#include "mysql/server_probe.h"

namespace cuckooguard::source {

LockProbe::LockProbe(MysqlLogin login, std::string identity, Clock clock)
    : login_(std::move(login)),
      identity_(std::move(identity)),
      clock_(std::move(clock)),
      next_(clock_() + kEvery) {}

bool LockProbe::is_connected() {
  if (connection_) {
    return true;
  }
  auto connection = open_same_server(login_, identity_);
  // As little as the server allows: none at all, or a second.
  if (!connection || !connection->run("SET SESSION lock_wait_timeout = 0")) {
    return false;
  }
  connection_.emplace(*std::move(connection));
  return true;
}

bool LockProbe::is_somebody_waiting(const MysqlTable& table) {
  constexpr unsigned kLockWaitTimeout = 1205;
  bool is_refused = false;
  if (is_connected() && connection_) {
    const auto read = connection_->ask("SELECT 1 FROM " + quoted_mysql_name(table.schema) + "." +
                                       quoted_mysql_name(table.name) + " LIMIT 0");
    is_refused = !read && read.error().code == kLockWaitTimeout;
    if (!read && read.error().is_lost()) {
      connection_.reset();
    }
  }
  next_ = clock_() + kEvery;
  return is_refused;
}

}  // namespace cuckooguard::source
