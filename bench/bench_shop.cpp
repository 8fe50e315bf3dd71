#include "bench_shop.h"

#include <cstdlib>
#include <stdexcept>

namespace cuckooguard::bench {

using harness::GuardProcess;
using harness::SteadyClock;

double milliseconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

BenchShop::BenchShop(const std::vector<std::string>& arguments) : server_(arguments) {
  auto session = server_.session();
  session.run("CREATE USER guard@localhost IDENTIFIED BY 'word'");
  session.run("GRANT SELECT ON shop.* TO guard@localhost");
  session.run("GRANT REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO guard@localhost");
}

double BenchShop::client_seconds(const std::string& sql) const {
  const auto begin = SteadyClock::now();
  harness::ChildProcess client({"/usr/bin/mariadb",
                                "--no-defaults",
                                "--user=root",
                                "--socket=" + server_.unix_path().string(),
                                "--quick",
                                "-N",
                                "-B",
                                "-e",
                                sql,
                                harness::SqlServer::kDatabase},
                               {"/dev/null", folder_ / "client_errors"});
  if (client.exit_code() != 0) {
    throw std::runtime_error("mariadb: " + harness::read_whole_file(folder_ / "client_errors"));
  }
  return milliseconds_since(begin) / 1000;
}

GuardProcess BenchShop::guard(const Guarded& guarded) const {
  return GuardProcess::on_port(
      "upstream: " + redis_.address() +
      "\nsources:\n  shop: { type: mysql, addresses: [ \"unix:" + server_.unix_path().string() +
      "\" ], user: guard, password: word, database: shop, max_lag: " +
      std::to_string(guarded.max_lag.count()) +
      "ms }\nnamespaces:\n  users: { keys: \"user:{id:uint64}\", source: { from: shop, table: " +
      guarded.table +
      " }, mode: enforce, overlay: { pass_at_start: false }, absent_reply: \"bytes:__ABSENT__\"" +
      (guarded.settings.contains("fresh_ids") ? "" : ", fresh_ids: 0") + guarded.settings +
      " }\nstorage: { directory: \"" + guarded.storage + "\", checkpoint_every: 1d }\n");
}

GuardProcess BenchShop::guard_of_nothing() const {
  return GuardProcess::on_port("upstream: " + redis_.address() + "\n");
}

void wait_until_absent(const GuardProcess& guard, std::uint64_t id) {
  constexpr harness::milliseconds kLoadPatience{600'000};
  auto client = guard.client();
  if (!harness::eventually([&] { return is_absent(client, id); }, kLoadPatience)) {
    throw std::runtime_error("the guard does not get ready: " + guard.log());
  }
}

bool is_absent(harness::RawClient& client, std::uint64_t id) {
  return client.call({"GET", "user:" + std::to_string(id)}) == kAbsent;
}

std::uint64_t info_number(const GuardProcess& guard, std::string_view field) {
  const std::string text = guard.call({"GUARD.INFO", "users"});
  const std::string start = "\n" + std::string(field) + ":";
  const std::size_t at = text.find(start);
  if (at == std::string::npos) {
    throw std::runtime_error("GUARD.INFO has no " + std::string(field) + ": " + text);
  }
  return std::strtoull(text.c_str() + at + start.size(), nullptr, 10);
}

}  // namespace cuckooguard::bench
