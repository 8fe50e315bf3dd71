#include "harness/mariadb_server.h"

#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "harness/missing.h"

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
    if (auto missing = missing_program(program, "mariadb-server")) {
      return missing;
    }
  }
  return std::nullopt;
}

MariaDbServer::MariaDbServer(const std::vector<std::string>& arguments,
                             TemporaryDirectory directory)
    : SqlServer({.install = as_ourselves({"/usr/bin/mariadb-install-db",
                                          "--no-defaults",
                                          "--skip-test-db",
                                          "--auth-root-authentication-method=normal"}),
                 .run = run_command(arguments)},
                std::move(directory)) {
  if (const auto what = missing()) {
    throw std::runtime_error(*what);
  }
  begin();
}

}  // namespace cuckooguard::harness
