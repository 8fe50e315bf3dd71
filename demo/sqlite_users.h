// The users in an SQLite database in WAL mode: `users (id INTEGER PRIMARY KEY AUTOINCREMENT, name,
// email)`.
//
// Threads, lifetimes, errors: as users_database.h says.
#pragma once

#include "users_database.h"

namespace cuckooguard::demo {

class SqliteUsers : public UsersDatabase {
 public:
  explicit SqliteUsers(std::string path) : path_(std::move(path)) {}

  void create(std::uint64_t rows, const Progress& progress) override;
  std::unique_ptr<UserReader> reader() const override;
  std::unique_ptr<UserWriter> writer() const override;
  std::string name() const override { return "a SQLite database"; }
  bool is_followed() const override { return false; }
  std::string guard_source() const override;

 private:
  std::string path_;
};

}  // namespace cuckooguard::demo
