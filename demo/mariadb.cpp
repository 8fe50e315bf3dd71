#include "mariadb.h"

#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace cuckooguard::demo {
namespace {

constexpr const char* kServer = "/usr/sbin/mariadbd";
constexpr const char* kInstall = "/usr/bin/mariadb-install-db";
constexpr const char* kDatabase = "shop";
// Nobody but this machine's users can reach the server, and it is gone with the demo.
constexpr const char* kPassword = "demo";

// Both programs: nothing of the machine's own MariaDB is read or written.
std::vector<std::string> command_of(const char* program, const TempDirectory& directory) {
  std::vector<std::string> command{
      program,
      "--no-defaults",
      "--datadir=" + directory.file("mariadb"),
      // Its own: a server that starts removes the temporary tables of all others from a shared one.
      "--tmpdir=" + directory.file("mariadb-tmp")};
  if (geteuid() == 0) {
    command.emplace_back("--user=root");  // it runs as root only if told to
  }
  return command;
}

std::string socket_path(const TempDirectory& directory) {
  return directory.file("mariadb.sock");
}

MysqlLogin as_root(const TempDirectory& directory) {
  MysqlLogin login;
  login.unix_path = socket_path(directory);
  login.user = "root";
  return login;
}

Server start(const TempDirectory& directory, const Interrupt& interrupt) {
  for (const char* const program : {kServer, kInstall}) {
    if (access(program, X_OK) != 0) {
      throw std::runtime_error(std::string(program) +
                               " is not there: install Debian's mariadb-server");
    }
  }
  std::filesystem::create_directory(directory.file("mariadb-tmp"));
  auto install = command_of(kInstall, directory);
  install.insert(install.end(), {"--skip-test-db", "--auth-root-authentication-method=normal"});
  run_to_end("mariadb-install-db", install, directory, interrupt);
  const auto command = [&directory](std::uint16_t port) {
    auto words = command_of(kServer, directory);
    words.insert(words.end(),
                 {"--socket=" + socket_path(directory),
                  "--port=" + std::to_string(port),
                  "--bind-address=127.0.0.1",
                  "--server-id=1",
                  "--log-bin=binlog",
                  "--binlog-format=ROW",
                  "--innodb-flush-log-at-trx-commit=2",
                  "--sync-binlog=0",
                  "--innodb-buffer-pool-size=256M"});
    return words;
  };
  const auto answers = [&directory](const Endpoint&) {
    const MysqlConnection connection(as_root(directory));
    return true;
  };
  return {"mariadb", command, answers, directory, interrupt};
}

}  // namespace

MariaDb::MariaDb(const TempDirectory& directory, const Interrupt& interrupt)
    : server_(start(directory, interrupt)) {
  MysqlConnection root(as_root(directory));
  root.run(fmt::format("CREATE DATABASE {}", kDatabase));
  for (const char* const account : {"application", "guard"}) {
    root.run(fmt::format("CREATE USER {}@'%' IDENTIFIED BY '{}'", account, kPassword));
  }
  root.run(fmt::format("GRANT ALL ON {}.* TO application@'%'", kDatabase));
  root.run(fmt::format("GRANT SELECT ON {}.* TO guard@'%'", kDatabase));
  root.run("GRANT REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO guard@'%'");
}

MysqlLogin MariaDb::login(const std::string& account) const {
  return {.server = server_.endpoint(),
          .unix_path = {},
          .user = account,
          .password = kPassword,
          .database = kDatabase};
}

}  // namespace cuckooguard::demo
