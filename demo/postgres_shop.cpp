#include "postgres_shop.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/postgres_server.h"
#include "sql_connection.h"

namespace cuckooguard::demo {
namespace {

using harness::PostgresSession;

constexpr std::uint64_t kRowsPerTransaction = 50'000;

// server_version is "15.14 (Debian 15.14-0+deb12u1)".
std::string version_of(const std::string& login) {
  const std::string words = PostgresSession(login).value("SHOW server_version");
  return words.substr(0, words.find(' '));
}

}  // namespace

PostgresShop::PostgresShop(std::string application, std::string guard_source)
    : application_(std::move(application)),
      guard_source_(std::move(guard_source)),
      version_(version_of(application_)) {}

void PostgresShop::create(std::uint64_t users, const Progress& progress) {
  PostgresSession session(application_);
  session.run(
      "CREATE TABLE users(id bigint PRIMARY KEY, name text NOT NULL, email text NOT NULL DEFAULT "
      "'');"
      "CREATE TABLE orders(id uuid PRIMARY KEY, text text NOT NULL)");
  for (std::uint64_t first = 1; first <= users; first += kRowsPerTransaction) {
    const std::uint64_t last = std::min(users, first + kRowsPerTransaction - 1);
    session.run(
        fmt::format("INSERT INTO users SELECT id, 'user number ' || id, id || '@shop.example'"
                    " FROM generate_series({}, {}) AS id",
                    first,
                    last));
    progress(last);
  }
  session.run(fmt::format(
      "INSERT INTO orders SELECT id, 'order ' || id FROM (SELECT CAST('00000000-0000-4000-8000-' ||"
      " lpad(to_hex(number), 12, '0') AS uuid) AS id FROM generate_series(1, {}) AS number) AS ids",
      kOrders));
}

std::unique_ptr<ShopConnection> PostgresShop::connect() const {
  return std::make_unique<SqlConnection<PostgresSession>>(application_);
}

std::uint64_t PostgresShop::largest_user() const {
  return std::stoull(PostgresSession(application_).value("SELECT coalesce(max(id), 0) FROM users"));
}

}  // namespace cuckooguard::demo
