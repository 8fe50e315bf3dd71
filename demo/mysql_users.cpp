#include "mysql_users.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cuckooguard::demo {
namespace {

using harness::SqlSession;

constexpr std::uint64_t kRowsPerStatement = 5'000;
constexpr std::uint64_t kRowsPerTransaction = 50'000;

std::uint64_t number(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text);
}

std::string row_of(std::uint64_t id, std::string_view email) {
  return fmt::format("({}, '{}', '{}')", id, user_name(id), email);
}

class Reader : public UserReader {
 public:
  explicit Reader(const harness::SqlLogin& login) : connection_(login) {}

  std::optional<std::string> name_of(std::uint64_t id) override {
    const auto rows = connection_.run(fmt::format("SELECT name FROM users WHERE id = {}", id));
    return rows.empty() ? std::nullopt : rows.front().front();
  }

 private:
  SqlSession connection_;
};

// The ids are given by the writer, not by AUTO_INCREMENT, since a row's name tells its id.
class Writer : public UserWriter {
 public:
  explicit Writer(const harness::SqlLogin& login)
      : connection_(login), next_(number(connection_.value("SELECT MAX(id) FROM users")) + 1) {}

  std::uint64_t insert_next() override {
    connection_.run("INSERT INTO users(id, name, email) VALUES " +
                    row_of(next_, "new@shop.example"));
    return next_++;
  }

 private:
  SqlSession connection_;
  std::uint64_t next_;
};

// VERSION() is "10.11.6-MariaDB-0+deb12u1-log" or "8.4.0".
std::string server_name(const std::string& version) {
  const bool is_mariadb = version.find("MariaDB") != std::string::npos;
  return (is_mariadb ? "MariaDB " : "MySQL ") + version.substr(0, version.find('-'));
}

}  // namespace

MysqlUsers::MysqlUsers(harness::SqlLogin application, std::string guard_source)
    : application_(std::move(application)),
      guard_source_(std::move(guard_source)),
      server_(server_name(SqlSession(application_).value("SELECT VERSION()"))) {}

void MysqlUsers::create(std::uint64_t rows, const Progress& progress) {
  SqlSession connection(application_);
  connection.run(
      "CREATE TABLE users(id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
      " name VARCHAR(100) NOT NULL, email VARCHAR(100) NOT NULL) ENGINE = InnoDB");
  for (std::uint64_t id = 1; id <= rows;) {
    connection.run("BEGIN");
    const std::uint64_t last = std::min(rows, id + kRowsPerTransaction - 1);
    while (id <= last) {
      std::string insert = "INSERT INTO users(id, name, email) VALUES ";
      const std::uint64_t last_of_statement = std::min(last, id + kRowsPerStatement - 1);
      for (; id <= last_of_statement; ++id) {
        insert += row_of(id, fmt::format("{}@shop.example", id));
        insert += id == last_of_statement ? "" : ",";
      }
      connection.run(insert);
    }
    connection.run("COMMIT");
    progress(last);
  }
}

std::unique_ptr<UserReader> MysqlUsers::reader() const {
  return std::make_unique<Reader>(application_);
}

std::unique_ptr<UserWriter> MysqlUsers::writer() const {
  return std::make_unique<Writer>(application_);
}

std::uint64_t MysqlUsers::count_up_to(std::uint64_t last) const {
  return number(SqlSession(application_)
                    .value(fmt::format("SELECT COUNT(*) FROM users WHERE id <= {}", last)));
}

}  // namespace cuckooguard::demo
