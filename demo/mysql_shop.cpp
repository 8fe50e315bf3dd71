#include "mysql_shop.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sql_connection.h"

namespace cuckooguard::demo {
namespace {

using harness::SqlSession;

constexpr std::uint64_t kRowsPerStatement = 5'000;
constexpr std::uint64_t kRowsPerTransaction = 50'000;

std::uint64_t number(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text);
}

// INSERT statements of so many rows each, for numbers from 1 to `last`.
void insert_all(SqlSession& session,
                std::uint64_t last,
                const char* into,
                const std::function<std::string(std::uint64_t)>& row,
                const ShopDatabase::Progress& progress) {
  for (std::uint64_t number = 1; number <= last;) {
    session.run("BEGIN");
    const std::uint64_t commit_at = std::min(last, number + kRowsPerTransaction - 1);
    while (number <= commit_at) {
      std::string insert = fmt::format("INSERT INTO {} VALUES {}", into, row(number));
      const std::uint64_t end = std::min(commit_at + 1, number + kRowsPerStatement);
      for (++number; number < end; ++number) {
        insert += "," + row(number);
      }
      session.run(insert);
    }
    session.run("COMMIT");
    progress(commit_at);
  }
}

// VERSION() is "10.11.6-MariaDB-0+deb12u1-log" or "8.4.0".
std::string server_name(const std::string& version) {
  const bool is_mariadb = version.find("MariaDB") != std::string::npos;
  return (is_mariadb ? "MariaDB " : "MySQL ") + version.substr(0, version.find('-'));
}

}  // namespace

MysqlShop::MysqlShop(harness::SqlLogin application, std::string guard_source)
    : application_(std::move(application)),
      guard_source_(std::move(guard_source)),
      server_(server_name(SqlSession(application_).value("SELECT VERSION()"))) {}

void MysqlShop::create(std::uint64_t users, const Progress& progress) {
  SqlSession session(application_);
  session.run(
      "CREATE TABLE users(id BIGINT UNSIGNED NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL,"
      " email VARCHAR(100) NOT NULL DEFAULT '') ENGINE = InnoDB");
  session.run(
      "CREATE TABLE orders(id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,"
      " text VARCHAR(100) NOT NULL) ENGINE = InnoDB");
  insert_all(
      session,
      users,
      "users",
      [](std::uint64_t id) {
        return fmt::format("({0}, 'user number {0}', '{0}@shop.example')", id);
      },
      progress);
  insert_all(
      session,
      kOrders,
      "orders",
      [](std::uint64_t number) { return fmt::format("('{0}', 'order {0}')", uuid_of(number)); },
      [](std::uint64_t) {});
}

std::unique_ptr<ShopConnection> MysqlShop::connect() const {
  return std::make_unique<SqlConnection<SqlSession>>(application_);
}

std::uint64_t MysqlShop::largest_user() const {
  return number(SqlSession(application_).value("SELECT MAX(id) FROM users"));
}

}  // namespace cuckooguard::demo
