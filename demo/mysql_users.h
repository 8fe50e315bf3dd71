// The users in a database of MariaDB or MySQL: `users (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY
// KEY, name, email)`.
//
// Threads, lifetimes, errors: as users_database.h says.
#pragma once

#include <string_view>

#include "endpoint.h"
#include "users_database.h"

struct st_mysql;

namespace cuckooguard::demo {

struct MysqlLogin {
  Endpoint server;
  std::string unix_path;  // instead of it
  std::string user;
  std::string password;
  std::string database;  // may be empty
};

class MysqlConnection {
 public:
  explicit MysqlConnection(const MysqlLogin& login);

  void run(std::string_view sql);
  std::optional<std::string> value(std::string_view sql);  // of the first row; none for NULL

 private:
  struct Close {
    void operator()(st_mysql* connection) const;
  };
  std::unique_ptr<st_mysql, Close> connection_;
};

class MysqlUsers : public UsersDatabase {
 public:
  explicit MysqlUsers(MysqlLogin application);
  // `guard` is what a guard that the demo starts logs in with.
  MysqlUsers(MysqlLogin application, MysqlLogin guard);

  void create(std::uint64_t rows, const Progress& progress) override;
  std::unique_ptr<UserReader> reader() const override;
  std::unique_ptr<UserWriter> writer() const override;
  std::string name() const override { return "a database of " + server_; }
  bool is_followed() const override { return true; }
  std::string guard_source() const override;

  // Rows with ids from 1 to `last`, for a database that somebody else has created.
  std::uint64_t count_up_to(std::uint64_t last) const;

 private:
  MysqlLogin application_;
  MysqlLogin guard_;
  std::string server_;  // "MariaDB 10.11.6", "MySQL 8.4.0"
};

}  // namespace cuckooguard::demo
