// The server that a follower follows, and who asks it for rows: another one's rows would prove
// nothing.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mysql/connection.h"
#include "source/row_lookup.h"

namespace cuckooguard::source {

// Any thread.
class FollowedServer {
 public:
  struct Known {
    MysqlLogin login{};
    std::string identity{};
  };

  void is(const MysqlLogin& login, const std::string& identity) {
    const std::lock_guard lock(mutex_);
    known_ = Known{.login = login, .identity = identity};
  }
  std::optional<Known> known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Known> known_;
};

std::unique_ptr<RowLookup> make_mysql_row_lookup(std::shared_ptr<const FollowedServer> server,
                                                 std::vector<Target> targets);

}  // namespace cuckooguard::source
