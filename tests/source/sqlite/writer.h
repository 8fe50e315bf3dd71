// The application's side of a SQLite database: a connection that may write.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace cuckooguard::source::sqlite {

class Writer {
 public:
  explicit Writer(const std::string& path) {
    if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) {
      throw std::runtime_error("cannot open " + path);
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { sqlite3_close(database_); }

  // False: a lock is in the way. Anything else that is wrong throws.
  bool try_run(const std::string& sql) {
    const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code == SQLITE_BUSY) {
      return false;
    }
    if (code != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(database_));
    }
    return true;
  }
  void run(const std::string& sql) {
    if (!try_run(sql)) {
      throw std::runtime_error(sql + ": locked");
    }
  }
  // Waits for locks up to this long.
  void be_patient(std::chrono::milliseconds longest) {
    sqlite3_busy_timeout(database_, static_cast<int>(longest.count()));
  }

 private:
  sqlite3* database_ = nullptr;
};

// A table `users` with the ids 1 … rows.
inline std::string create_users(int rows) {
  return "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT);"
         "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " +
         std::to_string(rows) + ") INSERT INTO users SELECT x, 'name ' || x FROM n;";
}

}  // namespace cuckooguard::source::sqlite
