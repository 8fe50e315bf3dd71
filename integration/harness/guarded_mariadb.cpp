#include "harness/guarded_mariadb.h"

#include "harness/deadline.h"

namespace cuckooguard::harness {

void create_guard_user(SqlSession& session) {
  session.run("CREATE USER guard@localhost IDENTIFIED BY 'word'");
  session.run("GRANT SELECT ON shop.* TO guard@localhost");
  session.run("GRANT REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO guard@localhost");
}

std::string unix_address(const SqlServer& server) {
  return "\"unix:" + server.unix_path().string() + "\"";
}

std::string shop_source(const std::string& addresses, const std::string& more) {
  return "sources:\n  shop: { type: mysql, addresses: [ " + addresses +
         " ], user: guard, password: word, database: shop, max_lag: " +
         std::to_string(kMaxLag.count()) + "ms" + more + " }\n";
}

void GuardedMariaDb::SetUp() {
  if (const auto missing = MariaDbServer::missing()) {
    GTEST_SKIP() << *missing;
  }
  server_.emplace();
  session_.emplace(server_->session());
  create_guard_user(*session_);
  redis_.emplace();
  prepare();
}

std::string GuardedMariaDb::upstream_and_source() const {
  return "upstream: " + redis_->address() + "\n" + shop_source(unix_address(*server_));
}

bool GuardedMariaDb::is_absent(const std::string& key) const {
  return guard_->call({"GET", key}) == kAnswer;
}

bool GuardedMariaDb::becomes_absent(const std::string& key) const {
  return eventually([&] { return is_absent(key); });
}

bool GuardedMariaDb::becomes_present(const std::string& key) const {
  return eventually([&] { return !is_absent(key); });
}

bool GuardedMariaDb::becomes_kept(const std::filesystem::path& file) {
  const std::string position = session_->value("SELECT @@gtid_binlog_pos");
  return eventually([&] {
    return run_guard({"filter", "inspect", file.string()}).standard_output.contains(position);
  });
}

}  // namespace cuckooguard::harness
