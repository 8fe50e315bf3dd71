#include "harness/mariadb_server.h"

#include <unistd.h>

namespace cuckooguard::harness {
namespace {

// mariadbd runs as root only if told to.
std::vector<std::string> as_ourselves(std::vector<std::string> command) {
  if (::geteuid() == 0) {
    command.emplace_back("--user=root");
  }
  return command;
}

std::vector<std::string> run_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = as_ourselves({"/usr/sbin/mariadbd",
                                                   "--no-defaults",
                                                   "--bind-address=127.0.0.1",
                                                   "--server-id=1",
                                                   "--log-bin=binlog",
                                                   "--binlog-format=ROW",
                                                   "--innodb-flush-log-at-trx-commit=2",
                                                   "--sync-binlog=0",
                                                   "--innodb-buffer-pool-size=64M"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

std::optional<std::string> MariaDbServer::missing() {
  for (const char* const program : {"/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db"}) {
    if (::access(program, X_OK) != 0) {
      return std::string(program) + " is not installed (Debian: mariadb-server)";
    }
  }
  return std::nullopt;
}

MariaDbServer::MariaDbServer(const std::vector<std::string>& arguments)
    : SqlServer({.install = as_ourselves({"/usr/bin/mariadb-install-db",
                                          "--no-defaults",
                                          "--skip-test-db",
                                          "--auth-root-authentication-method=normal"}),
                 .run = run_command(arguments)}) {
  begin();
}

}  // namespace cuckooguard::harness
