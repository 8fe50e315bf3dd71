// The users in a database of MariaDB or MySQL: `users (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY
// KEY, name, email)`.
//
// Threads, lifetimes, errors: as users_database.h says.
#pragma once

#include <utility>

#include "harness/sql_server.h"
#include "users_database.h"

namespace cuckooguard::demo {

class MysqlUsers : public UsersDatabase {
 public:
  // `guard_source` is that of a guard that the demo starts.
  explicit MysqlUsers(harness::SqlLogin application, std::string guard_source = {});

  void create(std::uint64_t rows, const Progress& progress) override;
  std::unique_ptr<UserReader> reader() const override;
  std::unique_ptr<UserWriter> writer() const override;
  std::string name() const override { return "a database of " + server_; }
  bool is_followed() const override { return true; }
  std::string guard_source() const override { return guard_source_; }

  // Rows with ids from 1 to `last`, for a database that somebody else has created.
  std::uint64_t count_up_to(std::uint64_t last) const;

 private:
  harness::SqlLogin application_;
  std::string guard_source_;
  std::string server_;  // "MariaDB 10.11.6", "MySQL 8.4.0"
};

}  // namespace cuckooguard::demo
