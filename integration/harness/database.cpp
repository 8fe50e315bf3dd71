#include "harness/database.h"

#include <stdexcept>
#include <utility>

#include <sqlite3.h>

#include "harness/deadline.h"

namespace cuckooguard::harness {

void Database::Close::operator()(sqlite3* database) const {
  ::sqlite3_close(database);
}

Database::Database(std::filesystem::path path, Journal journal) : path_(std::move(path)) {
  sqlite3* opened = nullptr;
  const int result = ::sqlite3_open(path_.c_str(), &opened);
  database_.reset(opened);
  if (result != SQLITE_OK) {
    throw std::runtime_error(::sqlite3_errmsg(opened));
  }
  ::sqlite3_busy_timeout(opened, static_cast<int>(kPatience.count()));
  run(journal == Journal::wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
  run("PRAGMA synchronous = OFF");  // a commit is one without a disk, too
  run("CREATE TABLE IF NOT EXISTS user (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)");
  run("CREATE TABLE IF NOT EXISTS tag (name TEXT PRIMARY KEY)");
}

void Database::run(const std::string& sql) {
  char* error = nullptr;
  if (::sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
    const std::string words = error == nullptr ? "unknown" : error;
    ::sqlite3_free(error);
    throw std::runtime_error(sql + ": " + words);
  }
}

void Database::run_without_triggers(const std::string& sql) {
  ::sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  run(sql);
  ::sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
}

void Database::insert_user(std::uint64_t id) {
  insert_users(id, id);
}

void Database::insert_users(std::uint64_t first, std::uint64_t last) {
  run("WITH RECURSIVE ids(id) AS (SELECT " + std::to_string(first) +
      " UNION ALL SELECT id + 1 FROM ids WHERE id < " + std::to_string(last) +
      ") INSERT INTO user (id, name) SELECT id, 'user ' || id FROM ids");
}

std::uint64_t Database::insert_next_user() {
  run("INSERT INTO user (name) VALUES ('next')");
  return static_cast<std::uint64_t>(::sqlite3_last_insert_rowid(database_.get()));
}

void Database::delete_user(std::uint64_t id) {
  run("DELETE FROM user WHERE id = " + std::to_string(id));
}

void Database::insert_tag(std::string_view name) {
  run("INSERT INTO tag (name) VALUES ('" + std::string(name) + "')");
}

}  // namespace cuckooguard::harness
