// The application's SQLite database: `users (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email)`, in WAL mode.
//
// Threads: one per object; each is a connection of its own. Errors: std::runtime_error with SQLite's words.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sqlite3.h>

namespace cuckooguard::demo {

namespace sqlite {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

}  // namespace sqlite

// What the row of this id holds, so that a value read anywhere can be checked.
std::string user_name(std::uint64_t id);

// The rows 1 to `rows`; `progress` is told how many there are.
void create_users(const std::string& path,
                  std::uint64_t rows,
                  const std::function<void(std::uint64_t)>& progress);

class UserReader {
 public:
  explicit UserReader(const std::string& path);
  std::optional<std::string> name_of(std::uint64_t id);

 private:
  sqlite::Database database_;
  sqlite::Statement select_;
};

class UserWriter {
 public:
  explicit UserWriter(const std::string& path);
  std::uint64_t insert_next();  // committed when it returns; the id that SQLite has given

 private:
  sqlite::Database database_;
  sqlite::Statement insert_;
  std::uint64_t next_ = 0;
};

}  // namespace cuckooguard::demo
