#include "harness/postgres_server.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <libpq-fe.h>
#include <unistd.h>

#include "harness/certificates.h"
#include "harness/deadline.h"
#include "harness/missing.h"
#include "harness/ports.h"

namespace cuckooguard::harness {
namespace {

// The machine's own files, or CUCKOOGUARD_POSTGRES_ROOT.
std::filesystem::path root() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const root = std::getenv("CUCKOOGUARD_POSTGRES_ROOT");
  return root == nullptr || *root == '\0' ? "/" : root;
}

std::string as_it_sees(const std::filesystem::path& path) {
  return "/" + path.lexically_relative(root()).string();
}

// Of the newest release that is there; nothing if there is none.
std::optional<std::filesystem::path> programs() {
  std::optional<std::filesystem::path> found;
  int newest = 0;
  std::error_code none;
  for (const auto& each :
       std::filesystem::directory_iterator(root() / "usr/lib/postgresql", none)) {
    const std::string name = each.path().filename();
    int release = 0;
    std::from_chars(name.data(), name.data() + name.size(), release);
    if (release > newest && std::filesystem::exists(each.path() / "bin/postgres")) {
      newest = release;
      found = each.path() / "bin";
    }
  }
  return found;
}

// As the user that Debian's packages make, who cannot be root.
std::vector<std::string> command_of(const std::string& program,
                                    const std::vector<std::string>& arguments) {
  std::vector<std::string> command;
  if (::geteuid() == 0) {
    // Changing the user takes back what ChildProcess has asked for.
    command = {"/usr/sbin/chroot",
               root().string(),
               "/usr/bin/setpriv",
               "--reuid=postgres",
               "--regid=postgres",
               "--init-groups",
               "--pdeathsig=KILL"};
  }
  command.push_back(as_it_sees(programs().value() / program));
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

void give(const std::filesystem::path& path) {
  if (::geteuid() != 0) {
    return;
  }
  const Ended given = run_program(
      {"/usr/sbin/chroot", root().string(), "/usr/bin/chown", "-R", "postgres:", as_it_sees(path)});
  if (given.exit_code != 0) {
    throw std::runtime_error("cannot give " + path.string() +
                             " to its user: " + given.standard_error);
  }
}

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

std::string state_of(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state == nullptr ? "lost" : state;
}

bool has_failed(const PGresult* result) {
  return PQresultStatus(result) == PGRES_FATAL_ERROR;
}

}  // namespace

void PostgresSession::Close::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

PostgresSession::PostgresSession(const std::string& login)
    : connection_(PQconnectdb(login.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw std::runtime_error(std::string("cannot connect to PostgreSQL: ") +
                             PQerrorMessage(connection_.get()));
  }
  PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
}

PostgresSession::Rows PostgresSession::run(const std::string& sql) {
  PGconn* const raw = connection_.get();
  Rows rows;
  std::string error;
  if (PQsendQuery(raw, sql.c_str()) == 0) {
    error = PQerrorMessage(raw);
  }
  while (error.empty()) {
    const Result result(PQgetResult(raw), &PQclear);
    if (result == nullptr) {
      return rows;
    }
    if (has_failed(result.get())) {
      error = PQerrorMessage(raw);
    }
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      auto& values = rows.emplace_back();
      for (int i = 0; i < PQnfields(result.get()); ++i) {
        values.push_back(PQgetisnull(result.get(), row, i) != 0
                             ? std::nullopt
                             : std::optional<std::string>(PQgetvalue(result.get(), row, i)));
      }
    }
  }
  while (const Result rest{PQgetResult(raw), &PQclear}) {
  }
  throw std::runtime_error(sql.substr(0, 200) + ": " + error);
}

std::string PostgresSession::value(const std::string& sql) {
  const Rows rows = run(sql);
  return rows.empty() || rows.front().empty() ? std::string{} : rows.front().front().value_or("");
}

std::string PostgresSession::try_run(const std::string& sql) {
  const Result result(PQexec(connection_.get(), sql.c_str()), &PQclear);
  return has_failed(result.get()) ? state_of(result.get()) : std::string{};
}

bool PostgresSession::is_lost() const {
  return PQstatus(connection_.get()) != CONNECTION_OK;
}

pid_t PostgresServer::pid() const {
  return process_->pid();
}

std::optional<std::string> PostgresServer::missing() {
  return programs() ? std::nullopt
                    : std::optional("there is no usr/lib/postgresql/*/bin/postgres in " +
                                    root().string() + " (Debian's postgresql)");
}

std::string PostgresServer::program(const std::string& name) {
  return programs().value() / name;
}

TemporaryDirectory PostgresServer::new_directory() {
  return TemporaryDirectory(root() / "tmp");
}

PostgresServer::PostgresServer(PostgresOptions options, TemporaryDirectory directory)
    : options_(std::move(options)), directory_(std::move(directory)), port_(free_port()) {
  if (const auto what = missing()) {
    throw std::runtime_error(*what);
  }
  initialize();
  start({});
  session("postgres").run(std::string("CREATE DATABASE ") + kDatabase);
}

PostgresServer::PostgresServer(const PostgresServer& stopped, PostgresOptions options)
    : options_(std::move(options)), directory_(new_directory()), port_(free_port()) {
  std::filesystem::copy(stopped.data(), data(), std::filesystem::copy_options::recursive);
  std::ofstream(data() / "standby.signal").close();
  give(directory_.path());
  start({});
}

void PostgresServer::initialize() {
  give(directory_.path());
  const Ended installed = run_program(command_of("initdb",
                                                 {"--no-sync",
                                                  "--pgdata=" + as_it_sees(data()),
                                                  "--username=postgres",
                                                  "--encoding=UTF8",
                                                  "--locale=C.UTF-8",
                                                  "--auth-local=trust",
                                                  "--auth-host=scram-sha-256"}));
  if (installed.exit_code != 0) {
    throw std::runtime_error("initdb: " + installed.standard_output + installed.standard_error);
  }
  if (options_.has_tls) {
    std::filesystem::create_directory(certificates());
    write_certificates(certificates());
    for (const auto& file : std::filesystem::directory_iterator(certificates())) {
      std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    }
    give(certificates());
  }
}

void PostgresServer::start(const std::vector<std::string>& more) {
  std::vector<std::string> settings{"listen_addresses=127.0.0.1",
                                    "port=" + std::to_string(port_),
                                    "unix_socket_directories=" + as_it_sees(socket_directory()),
                                    "wal_level=logical",
                                    "max_prepared_transactions=10",
                                    "shared_buffers=64MB",
                                    "jit=off"};
  if (!options_.is_durable) {
    settings.insert(settings.end(), {"fsync=off", "full_page_writes=off"});
  }
  if (options_.has_tls) {
    settings.insert(settings.end(),
                    {"ssl=on",
                     "ssl_cert_file=" + as_it_sees(certificates() / "server.crt"),
                     "ssl_key_file=" + as_it_sees(certificates() / "server.key")});
  }
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  settings.insert(settings.end(), more.begin(), more.end());
  std::vector<std::string> arguments{"-D", as_it_sees(data())};
  for (std::string& setting : settings) {
    arguments.emplace_back("-c");
    arguments.push_back(std::move(setting));
  }
  const std::filesystem::path log = directory_ / "log";
  process_.emplace(command_of("postgres", arguments), ChildProcess::Output{log, log});
  const auto serves = [this] {
    try {
      static_cast<void>(session("postgres"));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  if (!eventually([&] { return serves() || !process_->is_running(); }) || !process_->is_running()) {
    throw std::runtime_error("postgres does not start: " + read_whole_file(log));
  }
}

std::string PostgresServer::login(const std::string& database) const {
  return "host=" + socket_directory().string() + " port=" + std::to_string(port_) +
         " user=postgres dbname=" + database;
}

std::vector<pid_t> PostgresServer::processes() const {
  std::vector<pid_t> all{pid()};
  const std::string own = std::to_string(pid());
  std::ifstream children("/proc/" + own + "/task/" + own + "/children");
  for (pid_t child = 0; children >> child;) {
    all.push_back(child);
  }
  return all;
}

void PostgresServer::kill() {
  freeze();  // so that no child is begun meanwhile
  const std::vector<pid_t> all = processes();
  for (const pid_t process : all) {
    ::kill(process, SIGKILL);
  }
  process_->exit_code();
  // What is left of its shared memory would be in the next one's way.
  static_cast<void>(eventually([&] {
    for (const pid_t process : all) {
      const std::string stat = read_whole_file("/proc/" + std::to_string(process) + "/stat");
      const std::size_t name_end = stat.rfind(") ");
      if (name_end != std::string::npos && stat.at(name_end + 2) != 'Z') {
        return false;
      }
    }
    return true;
  }));
}

void PostgresServer::stop() {
  process_->send_signal(SIGINT);
  process_->exit_code();
}

void PostgresServer::freeze() {
  ::kill(pid(), SIGSTOP);  // first, so that it has no new children
  static_cast<void>(eventually([this] { return is_stopped(pid()); }));
  for (const pid_t process : processes()) {
    ::kill(process, SIGSTOP);
  }
}

void PostgresServer::thaw() const {
  for (const pid_t process : processes()) {
    ::kill(process, SIGCONT);
  }
}

void create_guard_role(const PostgresServer& server) {
  server.session().run(
      "CREATE ROLE guard LOGIN REPLICATION PASSWORD 'word';"
      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO guard;"
      "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO guard;"
      "CREATE PUBLICATION cuckooguard FOR ALL TABLES WITH (publish_via_partition_root = true)");
}

}  // namespace cuckooguard::harness
