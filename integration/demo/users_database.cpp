#include "users_database.h"

#include <algorithm>
#include <stdexcept>

namespace cuckooguard::demo {
namespace {

constexpr int kPatienceMs = 10'000;
constexpr std::uint64_t kRowsPerTransaction = 50'000;

void require(bool is_fine, sqlite3* database) {
  if (!is_fine) {
    throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(database));
  }
}

sqlite::Database open(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  sqlite::Database database(raw);
  require(code == SQLITE_OK, raw);
  sqlite3_busy_timeout(raw, kPatienceMs);
  return database;
}

sqlite::Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK, database);
  return sqlite::Statement(statement);
}

void run(sqlite3* database, const char* sql) {
  require(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK, database);
}

void bind(sqlite3_stmt* statement, int parameter, const std::string& text) {
  sqlite3_bind_text(
      statement, parameter, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace

std::string user_name(std::uint64_t id) {
  return "user number " + std::to_string(id);
}

void create_users(const std::string& path,
                  std::uint64_t rows,
                  const std::function<void(std::uint64_t)>& progress) {
  const auto database = open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  run(database.get(),
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
      "CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
      " email TEXT NOT NULL);");
  const auto insert =
      prepare(database.get(), "INSERT INTO users(name, email) VALUES(?1, ?2 || '@shop.example')");
  for (std::uint64_t id = 1; id <= rows;) {
    run(database.get(), "BEGIN");
    const std::uint64_t last = std::min(rows, id + kRowsPerTransaction - 1);
    for (; id <= last; ++id) {
      const std::string name = user_name(id);
      const std::string number = std::to_string(id);
      bind(insert.get(), 1, name);
      bind(insert.get(), 2, number);
      require(sqlite3_step(insert.get()) == SQLITE_DONE, database.get());
      sqlite3_reset(insert.get());
    }
    run(database.get(), "COMMIT");
    progress(last);
  }
  run(database.get(), "PRAGMA wal_checkpoint(TRUNCATE)");
}

UserReader::UserReader(const std::string& path)
    : database_(open(path, SQLITE_OPEN_READONLY)),
      select_(prepare(database_.get(), "SELECT name FROM users WHERE id = ?1")) {}

std::optional<std::string> UserReader::name_of(std::uint64_t id) {
  sqlite3_bind_int64(select_.get(), 1, static_cast<std::int64_t>(id));
  const int code = sqlite3_step(select_.get());
  require(code == SQLITE_ROW || code == SQLITE_DONE, database_.get());
  std::optional<std::string> name;
  if (code == SQLITE_ROW) {
    name.emplace(reinterpret_cast<const char*>(sqlite3_column_text(select_.get(), 0)));
  }
  sqlite3_reset(select_.get());
  return name;
}

UserWriter::UserWriter(const std::string& path)
    : database_(open(path, SQLITE_OPEN_READWRITE)),
      insert_(prepare(database_.get(),
                      "INSERT INTO users(name, email) VALUES(?1, 'new@shop.example')")) {
  run(database_.get(), "PRAGMA synchronous=NORMAL");  // as is usual with WAL: no fsync per commit
  const auto last =
      prepare(database_.get(), "SELECT seq FROM sqlite_sequence WHERE name = 'users'");
  require(sqlite3_step(last.get()) == SQLITE_ROW, database_.get());
  next_ = static_cast<std::uint64_t>(sqlite3_column_int64(last.get(), 0)) + 1;
}

std::uint64_t UserWriter::insert_next() {
  const std::string name = user_name(next_);
  bind(insert_.get(), 1, name);
  require(sqlite3_step(insert_.get()) == SQLITE_DONE, database_.get());
  sqlite3_reset(insert_.get());
  ++next_;
  return static_cast<std::uint64_t>(sqlite3_last_insert_rowid(database_.get()));
}

}  // namespace cuckooguard::demo
