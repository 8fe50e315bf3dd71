#include "harness/mysql_server.h"

#include <cstdlib>
#include <vector>

#include <unistd.h>

#include "harness/mariadb_server.h"

namespace cuckooguard::harness {
namespace {

std::vector<std::string> mysqld(const std::filesystem::path& root,
                                const std::vector<std::string>& arguments) {
  std::vector<std::string> command{
      "/usr/sbin/chroot", root.string(), "/usr/sbin/mysqld", "--no-defaults", "--user=root"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

std::optional<std::filesystem::path> MysqlServer::root() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const root = std::getenv("CUCKOOGUARD_MYSQL_ROOT");
  return root == nullptr || *root == '\0' ? std::nullopt
                                          : std::optional<std::filesystem::path>(root);
}

std::optional<std::string> MysqlServer::missing() {
  const auto root = MysqlServer::root();
  if (!root) {
    return "no MySQL: CUCKOOGUARD_MYSQL_ROOT names none (integration/harness/mysql_server.h)";
  }
  return ::access((*root / "usr/sbin/mysqld").c_str(), X_OK) == 0
             ? std::nullopt
             : std::optional("there is no usr/sbin/mysqld in " + root->string());
}

MysqlServer::MysqlServer(const std::filesystem::path& root)
    : SqlServer({.install = mysqld(root, {"--initialize-insecure"}),
                 .run = mysqld(root,
                               {"--bind-address=127.0.0.1",
                                "--mysqlx=OFF",
                                "--secure-file-priv=NULL",
                                "--server-id=1",
                                "--log-bin=binlog",
                                "--binlog-format=ROW",
                                "--gtid-mode=ON",
                                "--enforce-gtid-consistency=ON",
                                "--innodb-flush-log-at-trx-commit=2",
                                "--sync-binlog=0",
                                "--innodb-buffer-pool-size=64M"}),
                 .root = root},
                TemporaryDirectory(root / "tmp")) {
  begin();
}

std::optional<std::string> missing_server() {
  return MysqlServer::root() ? MysqlServer::missing() : MariaDbServer::missing();
}

std::unique_ptr<SqlServer> make_server() {
  if (const auto root = MysqlServer::root()) {
    return std::make_unique<MysqlServer>(*root);
  }
  return std::make_unique<MariaDbServer>();
}

}  // namespace cuckooguard::harness
