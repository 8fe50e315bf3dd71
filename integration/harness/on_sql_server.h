// A fixture with a database server of the test's own: MySQL if CUCKOOGUARD_MYSQL_ROOT is set, else
// MariaDB. Tests are skipped, with the reason, where there is none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "harness/mysql_server.h"

namespace cuckooguard::harness {

class OnSqlServer : public testing::Test {
 protected:
  void SetUp() final;
  // When the server runs: tables, users, rows.
  virtual void prepare() {}

  void run(const std::string& sql) { session_->run(sql); }

  std::unique_ptr<SqlServer> server_;
  std::optional<SqlSession> session_;  // from the first start; a restart of the server ends it
};

}  // namespace cuckooguard::harness
