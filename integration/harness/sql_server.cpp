#include "harness/sql_server.h"

#include <csignal>
#include <stdexcept>
#include <utility>

#include <mysql.h>

#include "harness/ports.h"

namespace cuckooguard::harness {
namespace {

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace

void SqlSession::Close::operator()(st_mysql* connection) const {
  mysql_close(connection);
}

SqlSession::SqlSession(const SqlLogin& login) : connection_(mysql_init(nullptr)) {
  if (mysql_real_connect(connection_.get(),
                         text_or_null(login.host),
                         login.user.c_str(),
                         login.password.c_str(),
                         text_or_null(login.database),
                         login.port,
                         text_or_null(login.unix_path),
                         CLIENT_MULTI_STATEMENTS) == nullptr) {
    throw std::runtime_error(std::string("cannot connect to the database: ") +
                             mysql_error(connection_.get()));
  }
}

unsigned SqlSession::try_run(std::string_view sql) {
  MYSQL* const raw = connection_.get();
  if (mysql_real_query(raw, sql.data(), sql.size()) != 0) {
    return mysql_errno(raw);
  }
  int status = 0;
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

SqlServer::SqlServer(Recipe recipe, TemporaryDirectory directory)
    : recipe_(std::move(recipe)), directory_(std::move(directory)), port_(free_port()) {}

void SqlServer::begin() {
  std::filesystem::create_directory(directory_ / "tmp");
  std::vector<std::string> command = recipe_.install;
  append_directories(command);
  const Ended installed = run_program(std::move(command));
  if (installed.exit_code != 0) {
    throw std::runtime_error(recipe_.install.front() + ": " + installed.standard_output +
                             installed.standard_error);
  }
  start({});
  session("").run(std::string("CREATE DATABASE ") + kDatabase);
}

std::string SqlServer::seen_by_server(const std::string& name) const {
  return "/" + ((directory_.path() / name).lexically_relative(recipe_.root)).string();
}

// For temporary files its own: a server that starts removes the temporary tables of all others from
// a shared one.
void SqlServer::append_directories(std::vector<std::string>& command) const {
  command.push_back("--datadir=" + seen_by_server("data"));
  command.push_back("--tmpdir=" + seen_by_server("tmp"));
}

void SqlServer::start(const std::vector<std::string>& more) {
  std::vector<std::string> command = recipe_.run;
  command.insert(command.end(), more.begin(), more.end());
  append_directories(command);
  command.push_back("--socket=" + seen_by_server("server.sock"));
  command.push_back("--pid-file=" + seen_by_server("server.pid"));
  command.push_back("--port=" + std::to_string(port_));
  process_.emplace(std::move(command),
                   ChildProcess::Output{directory_ / "output", directory_ / "errors"});
  wait_until_it_serves();
}

void SqlServer::wait_until_it_serves() {
  const auto serves = [this] {
    try {
      static_cast<void>(session(""));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  if (!eventually([&] { return serves() || !process_->is_running(); }) || !process_->is_running()) {
    throw std::runtime_error(recipe_.run.front() +
                             " does not start: " + read_whole_file(directory_ / "errors"));
  }
}

void SqlServer::kill() {
  process_->send_signal(SIGKILL);
  process_->exit_code();
}

namespace {

constexpr auto kAllFiles =
    std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;

}  // namespace

void SqlServer::keep_tables(const std::filesystem::path& folder) const {
  std::filesystem::copy(directory_ / "data", folder, kAllFiles);
}

void SqlServer::put_tables_back(const std::filesystem::path& folder) const {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("binlog.")) {
      std::filesystem::copy(file.path(), directory_ / "data" / name, kAllFiles);
    }
  }
}

pid_t SqlServer::pid() const {
  return process_->pid();
}

void SqlServer::send_signal(int signal) const {
  process_->send_signal(signal);
}

void SqlServer::stop() {
  process_->send_signal(SIGTERM);
  process_->exit_code();
}

void create_guard_user(const SqlServer& server, const std::string& tables) {
  SqlSession session = server.session();
  session.run("CREATE USER guard@localhost IDENTIFIED BY 'word'");
  session.run("GRANT SELECT ON " + tables + " TO guard@localhost");
  session.run(std::string("GRANT REPLICATION SLAVE, ") +
              (server.is_mariadb() ? "BINLOG MONITOR, SLAVE MONITOR" : "REPLICATION CLIENT") +
              " ON *.* TO guard@localhost");
}

}  // namespace cuckooguard::harness
