#include "harness/mariadb_server.h"

#include <csignal>
#include <stdexcept>
#include <utility>

#include <mysql.h>
#include <unistd.h>

#include "harness/ports.h"

namespace cuckooguard::harness {
namespace {

// mariadbd runs as root only if told to.
std::vector<std::string> as_ourselves(std::vector<std::string> command) {
  if (::geteuid() == 0) {
    command.emplace_back("--user=root");
  }
  return command;
}

}  // namespace

void SqlSession::Close::operator()(st_mysql* connection) const {
  mysql_close(connection);
}

SqlSession::SqlSession(const std::filesystem::path& unix_path, const std::string& database)
    : connection_(mysql_init(nullptr)) {
  if (mysql_real_connect(connection_.get(),
                         nullptr,
                         "root",
                         "",
                         database.empty() ? nullptr : database.c_str(),
                         0,
                         unix_path.c_str(),
                         CLIENT_MULTI_STATEMENTS) == nullptr) {
    throw std::runtime_error(mysql_error(connection_.get()));
  }
}

unsigned SqlSession::try_run(std::string_view sql) {
  MYSQL* const raw = connection_.get();
  int status = mysql_real_query(raw, sql.data(), sql.size());
  while (status == 0) {
    mysql_free_result(mysql_store_result(raw));
    status = mysql_next_result(raw);
  }
  return status > 0 ? mysql_errno(raw) : 0;
}

SqlSession::Rows SqlSession::run(std::string_view sql) {
  MYSQL* const raw = connection_.get();
  Rows rows;
  int status = mysql_real_query(raw, sql.data(), sql.size());
  while (status == 0) {
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(raw),
                                                                          &mysql_free_result);
    while (MYSQL_ROW row = result == nullptr ? nullptr : mysql_fetch_row(result.get())) {
      auto& values = rows.emplace_back();
      const unsigned long* const lengths = mysql_fetch_lengths(result.get());
      for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i) {
        values.push_back(row[i] == nullptr ? std::nullopt
                                           : std::optional(std::string(row[i], lengths[i])));
      }
    }
    status = mysql_next_result(raw);
  }
  if (status > 0) {
    throw std::runtime_error(std::string(sql.substr(0, 200)) + ": " + mysql_error(raw));
  }
  return rows;
}

std::string SqlSession::value(std::string_view sql) {
  const Rows rows = run(sql);
  return rows.empty() || rows.front().empty() ? std::string{} : rows.front().front().value_or("");
}

std::uint64_t SqlSession::affected_rows() const {
  return mysql_affected_rows(connection_.get());
}

std::optional<std::string> MariaDbServer::missing() {
  for (const char* const program : {"/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db"}) {
    if (::access(program, X_OK) != 0) {
      return std::string(program) + " is not installed (Debian: mariadb-server)";
    }
  }
  return std::nullopt;
}

MariaDbServer::MariaDbServer(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)), port_(free_port()) {
  std::filesystem::create_directory(temporary_files());
  const Ended installed =
      run_program(as_ourselves({"/usr/bin/mariadb-install-db",
                                "--no-defaults",
                                "--skip-test-db",
                                "--auth-root-authentication-method=normal",
                                "--datadir=" + (directory_ / "data").string(),
                                "--tmpdir=" + temporary_files().string()}));
  if (installed.exit_code != 0) {
    throw std::runtime_error("mariadb-install-db: " + installed.standard_output +
                             installed.standard_error);
  }
  start();
  SqlSession(unix_path(), "").run(std::string("CREATE DATABASE ") + kDatabase);
}

void MariaDbServer::start() {
  std::vector<std::string> command = as_ourselves({"/usr/sbin/mariadbd",
                                                   "--no-defaults",
                                                   "--datadir=" + (directory_ / "data").string(),
                                                   "--tmpdir=" + temporary_files().string(),
                                                   "--socket=" + unix_path().string(),
                                                   "--port=" + std::to_string(port_),
                                                   "--bind-address=127.0.0.1",
                                                   "--server-id=1",
                                                   "--log-bin=binlog",
                                                   "--binlog-format=ROW",
                                                   "--innodb-flush-log-at-trx-commit=2",
                                                   "--sync-binlog=0",
                                                   "--innodb-buffer-pool-size=64M"});
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  process_.emplace(std::move(command),
                   ChildProcess::Output{directory_ / "output", directory_ / "errors"});
  wait_until_it_serves();
}

void MariaDbServer::wait_until_it_serves() {
  const auto serves = [this] {
    try {
      const SqlSession session(unix_path(), "");
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  if (!eventually([&] { return serves() || !process_->is_running(); }) || !process_->is_running()) {
    throw std::runtime_error("mariadbd does not start: " + read_whole_file(directory_ / "errors"));
  }
}

void MariaDbServer::kill() {
  process_->send_signal(SIGKILL);
  process_->exit_code();
}

void MariaDbServer::stop() {
  process_->send_signal(SIGTERM);
  process_->exit_code();
}

void MariaDbServer::start_again() {
  start();
}

}  // namespace cuckooguard::harness
