#include "sqlite_users.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <sqlite3.h>

#include "harness/configuration.h"

namespace cuckooguard::demo {
namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

constexpr int kPatienceMs = 10'000;
constexpr std::uint64_t kRowsPerTransaction = 50'000;

void require(bool is_fine, sqlite3* database) {
  if (!is_fine) {
    throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(database));
  }
}

Database open(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  require(code == SQLITE_OK, raw);
  sqlite3_busy_timeout(raw, kPatienceMs);
  return database;
}

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK, database);
  return Statement(statement);
}

void run(sqlite3* database, const char* sql) {
  require(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK, database);
}

void bind(sqlite3_stmt* statement, int parameter, const std::string& text) {
  sqlite3_bind_text(
      statement, parameter, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

class Reader : public UserReader {
 public:
  explicit Reader(const std::string& path)
      : database_(open(path, SQLITE_OPEN_READONLY)),
        select_(prepare(database_.get(), "SELECT name FROM users WHERE id = ?1")) {}

  std::optional<std::string> name_of(std::uint64_t id) override {
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

 private:
  Database database_;
  Statement select_;
};

class Writer : public UserWriter {
 public:
  explicit Writer(const std::string& path)
      : database_(open(path, SQLITE_OPEN_READWRITE)),
        insert_(prepare(database_.get(),
                        "INSERT INTO users(name, email) VALUES(?1, 'new@shop.example')")) {
    run(database_.get(), "PRAGMA synchronous=NORMAL");  // as is usual with WAL: no fsync per commit
    const auto last =
        prepare(database_.get(), "SELECT seq FROM sqlite_sequence WHERE name = 'users'");
    require(sqlite3_step(last.get()) == SQLITE_ROW, database_.get());
    next_ = static_cast<std::uint64_t>(sqlite3_column_int64(last.get(), 0)) + 1;
  }

  std::uint64_t insert_next() override {
    const std::string name = user_name(next_);
    bind(insert_.get(), 1, name);
    require(sqlite3_step(insert_.get()) == SQLITE_DONE, database_.get());
    sqlite3_reset(insert_.get());
    ++next_;
    return static_cast<std::uint64_t>(sqlite3_last_insert_rowid(database_.get()));
  }

 private:
  Database database_;
  Statement insert_;
  std::uint64_t next_ = 0;
};

}  // namespace

void SqliteUsers::create(std::uint64_t rows, const Progress& progress) {
  const auto database = open(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
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

std::unique_ptr<UserReader> SqliteUsers::reader() const {
  return std::make_unique<Reader>(path_);
}

std::unique_ptr<UserWriter> SqliteUsers::writer() const {
  return std::make_unique<Writer>(path_);
}

std::string SqliteUsers::guard_source() const {
  return harness::sqlite_source(path_,
                                fmt::format(", max_lag: {}ms, poll_every: 10ms", kMaxLag.count()));
}

}  // namespace cuckooguard::demo
