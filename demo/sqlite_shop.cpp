#include "sqlite_shop.h"

#include <algorithm>
#include <array>
#include <span>
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

void run(sqlite3* database, const char* sql) {
  require(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK, database);
}

class Prepared {
 public:
  Prepared(const char* sql, sqlite3* database) : database_(database) {
    sqlite3_stmt* statement = nullptr;
    require(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK, database);
    statement_.reset(statement);
  }

  // The first column of the first row.
  std::optional<std::string> run(std::span<const std::string> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      sqlite3_bind_text(statement_.get(),
                        static_cast<int>(i) + 1,
                        values[i].data(),
                        static_cast<int>(values[i].size()),
                        SQLITE_STATIC);
    }
    const int code = sqlite3_step(statement_.get());
    require(code == SQLITE_ROW || code == SQLITE_DONE, database_);
    std::optional<std::string> found;
    if (code == SQLITE_ROW) {
      found.emplace(reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), 0)));
    }
    sqlite3_reset(statement_.get());
    return found;
  }

 private:
  sqlite3* database_;
  Statement statement_;
};

class Connection : public ShopConnection {
 public:
  explicit Connection(const std::string& path)
      : database_(open(path, SQLITE_OPEN_READWRITE)),
        find_user_("SELECT name FROM users WHERE id = ?1", database_.get()),
        find_order_("SELECT text FROM orders WHERE id = ?1", database_.get()),
        insert_user_("INSERT INTO users(id, name) VALUES(?1, ?2)", database_.get()),
        insert_order_("INSERT INTO orders(id, text) VALUES(?1, ?2)", database_.get()) {
    run(database_.get(), "PRAGMA synchronous=NORMAL");  // as is usual with WAL: no fsync per commit
  }

  std::optional<std::string> find(const Item& item) override {
    return (item.is_order ? find_order_ : find_user_).run({&item.id, 1});
  }
  void insert(const Item& item) override {
    const std::array<std::string, 2> values{item.id, item.content()};
    (item.is_order ? insert_order_ : insert_user_).run(values);
  }

 private:
  Database database_;
  Prepared find_user_;
  Prepared find_order_;
  Prepared insert_user_;
  Prepared insert_order_;
};

}  // namespace

void SqliteShop::create(std::uint64_t users, const Progress& progress) {
  const auto database = open(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  run(database.get(),
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
      "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL DEFAULT "
      "'');"
      "CREATE TABLE orders(id TEXT PRIMARY KEY, text TEXT NOT NULL);");
  const auto fill = [&](const std::string& sql, std::uint64_t first, std::uint64_t last) {
    run(database.get(),
        fmt::format("WITH RECURSIVE numbers(number) AS (VALUES({}) UNION ALL"
                    " SELECT number + 1 FROM numbers WHERE number < {}) {}",
                    first,
                    last,
                    sql)
            .c_str());
  };
  for (std::uint64_t first = 1; first <= users; first += kRowsPerTransaction) {
    const std::uint64_t last = std::min(users, first + kRowsPerTransaction - 1);
    fill(
        "INSERT INTO users SELECT number, 'user number ' || number, number || '@shop.example'"
        " FROM numbers",
        first,
        last);
    progress(last);
  }
  fill(
      "INSERT INTO orders SELECT id, 'order ' || id FROM"
      " (SELECT printf('00000000-0000-4000-8000-%012x', number) AS id FROM numbers)",
      1,
      kOrders);
  run(database.get(), "PRAGMA wal_checkpoint(TRUNCATE)");
}

std::unique_ptr<ShopConnection> SqliteShop::connect() const {
  return std::make_unique<Connection>(path_);
}

std::uint64_t SqliteShop::largest_user() const {
  const auto database = open(path_, SQLITE_OPEN_READONLY);
  const auto largest = Prepared("SELECT max(id) FROM users", database.get()).run({});
  return std::stoull(largest.value_or("0"));
}

std::string SqliteShop::guard_source() const {
  return harness::sqlite_source(path_,
                                fmt::format(", max_lag: {}ms, poll_every: 10ms", kMaxLag.count()));
}

}  // namespace cuckooguard::demo
