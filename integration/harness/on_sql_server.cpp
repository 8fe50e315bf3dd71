#include "harness/on_sql_server.h"

namespace cuckooguard::harness {

void OnSqlServer::SetUp() {
  if (const auto missing = missing_server()) {
    GTEST_SKIP() << *missing;
  }
  server_ = make_server();
  session_.emplace(server_->session());
  prepare();
}

}  // namespace cuckooguard::harness
