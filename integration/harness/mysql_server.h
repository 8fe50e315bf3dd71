// MySQL, which Debian's stable releases do not have: a tree of files with /usr/sbin/mysqld that the
// server is started in with chroot, as root. debootstrap makes one of Debian's unstable release:
//
//   debootstrap --variant=minbase --include=mysql-server-core sid /srv/sid
//   CUCKOOGUARD_MYSQL_ROOT=/srv/sid ./dev exactness
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "harness/sql_server.h"

namespace cuckooguard::harness {

class MysqlServer final : public SqlServer {
 public:
  // CUCKOOGUARD_MYSQL_ROOT, if it is set.
  static std::optional<std::filesystem::path> root();
  // Why there is none.
  static std::optional<std::string> missing();

  explicit MysqlServer(const std::filesystem::path& root);

  bool is_mariadb() const override { return false; }
};

// For tests that run with either: MySQL if CUCKOOGUARD_MYSQL_ROOT is set, else MariaDB.
std::optional<std::string> missing_server();
std::unique_ptr<SqlServer> make_server();

}  // namespace cuckooguard::harness
