// The application's side of the SQLite database that the guard follows.
//
// Table `user (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)` and `tag (name TEXT PRIMARY KEY)`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;

namespace cuckooguard::harness {

enum class Journal : std::uint8_t { wal, rollback };

class Database {
 public:
  // Creates the tables if they are not there.
  Database(std::filesystem::path path, Journal journal);

  const std::filesystem::path& path() const { return path_; }

  // Committed when it returns. Throws std::runtime_error with SQLite's words.
  void run(const std::string& sql);

  // The same on a connection that runs no triggers: whoever relies on them does not hear of it.
  void run_without_triggers(const std::string& sql);

  void insert_user(std::uint64_t id);
  void insert_users(std::uint64_t first, std::uint64_t last);  // one transaction
  std::uint64_t insert_next_user();                            // returns the id SQLite has given
  void delete_user(std::uint64_t id);
  void insert_tag(std::string_view name);  // no quotes in it

  void close() { database_.reset(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace cuckooguard::harness
