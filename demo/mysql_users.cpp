#include "mysql_users.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>
#include <mysql.h>

#include "servers.h"

namespace cuckooguard::demo {
namespace {

constexpr unsigned kPatienceSeconds = 30;
constexpr std::uint64_t kRowsPerStatement = 5'000;
constexpr std::uint64_t kRowsPerTransaction = 50'000;

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

std::uint64_t number(const std::optional<std::string>& text) {
  std::uint64_t value = 0;
  if (text) {
    std::from_chars(text->data(), text->data() + text->size(), value);
  }
  return value;
}

std::string row_of(std::uint64_t id, std::string_view email) {
  return fmt::format("({}, '{}', '{}')", id, user_name(id), email);
}

class Reader : public UserReader {
 public:
  explicit Reader(const MysqlLogin& login) : connection_(login) {}

  std::optional<std::string> name_of(std::uint64_t id) override {
    return connection_.value(fmt::format("SELECT name FROM users WHERE id = {}", id));
  }

 private:
  MysqlConnection connection_;
};

// The ids are given by the writer, not by AUTO_INCREMENT, since a row's name tells its id.
class Writer : public UserWriter {
 public:
  explicit Writer(const MysqlLogin& login)
      : connection_(login), next_(number(connection_.value("SELECT MAX(id) FROM users")) + 1) {}

  std::uint64_t insert_next() override {
    connection_.run("INSERT INTO users(id, name, email) VALUES " +
                    row_of(next_, "new@shop.example"));
    return next_++;
  }

 private:
  MysqlConnection connection_;
  std::uint64_t next_;
};

// VERSION() is "10.11.6-MariaDB-0+deb12u1-log" or "8.4.0".
std::string server_name(const std::string& version) {
  const bool is_mariadb = version.find("MariaDB") != std::string::npos;
  return (is_mariadb ? "MariaDB " : "MySQL ") + version.substr(0, version.find('-'));
}

}  // namespace

void MysqlConnection::Close::operator()(st_mysql* connection) const {
  mysql_close(connection);
}

MysqlConnection::MysqlConnection(const MysqlLogin& login) : connection_(mysql_init(nullptr)) {
  MYSQL* const raw = connection_.get();
  for (const auto option :
       {MYSQL_OPT_CONNECT_TIMEOUT, MYSQL_OPT_READ_TIMEOUT, MYSQL_OPT_WRITE_TIMEOUT}) {
    mysql_optionsv(raw, option, &kPatienceSeconds);
  }
  if (mysql_real_connect(raw,
                         login.unix_path.empty() ? login.server.host.c_str() : nullptr,
                         login.user.c_str(),
                         login.password.c_str(),
                         text_or_null(login.database),
                         login.server.port,
                         text_or_null(login.unix_path),
                         0) == nullptr) {
    throw std::runtime_error(std::string("cannot connect to the database: ") + mysql_error(raw));
  }
}

void MysqlConnection::run(std::string_view sql) {
  static_cast<void>(value(sql));
}

std::optional<std::string> MysqlConnection::value(std::string_view sql) {
  MYSQL* const raw = connection_.get();
  if (mysql_real_query(raw, sql.data(), sql.size()) != 0) {
    throw std::runtime_error(std::string("the database: ") + mysql_error(raw));
  }
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(raw),
                                                                        &mysql_free_result);
  if (result == nullptr) {
    if (mysql_errno(raw) != 0) {
      throw std::runtime_error(std::string("the database: ") + mysql_error(raw));
    }
    return std::nullopt;
  }
  char** const row = mysql_fetch_row(result.get());
  if (row == nullptr || row[0] == nullptr) {
    return std::nullopt;
  }
  return std::string(row[0], mysql_fetch_lengths(result.get())[0]);
}

MysqlUsers::MysqlUsers(MysqlLogin application, MysqlLogin guard)
    : MysqlUsers(std::move(application)) {
  guard_ = std::move(guard);
}

MysqlUsers::MysqlUsers(MysqlLogin application)
    : application_(std::move(application)),
      server_(server_name(MysqlConnection(application_).value("SELECT VERSION()").value_or(""))) {}

void MysqlUsers::create(std::uint64_t rows, const Progress& progress) {
  MysqlConnection connection(application_);
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

std::string MysqlUsers::guard_source() const {
  return fmt::format(
      "{{ type: mysql, addresses: [\"{}\"], user: {}, password: {}, database: {}, max_lag: {}ms }}",
      guard_.server.text(),
      guard_.user,
      guard_.password,
      guard_.database,
      kMaxLag.count());
}

std::uint64_t MysqlUsers::count_up_to(std::uint64_t last) const {
  return number(MysqlConnection(application_)
                    .value(fmt::format("SELECT COUNT(*) FROM users WHERE id <= {}", last)));
}

}  // namespace cuckooguard::demo
