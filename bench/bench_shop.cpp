#include "bench_shop.h"

#include <stdexcept>

#include "harness/redis_command.h"

namespace cuckooguard::bench {

using harness::GuardProcess;
using harness::SteadyClock;

double milliseconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

BenchShop::BenchShop(const std::vector<std::string>& arguments) : server_(arguments) {
  create_guard_user(server_);
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
  return GuardProcess::on_port(harness::Configuration{
      .upstream = redis_.address(),
      .source = harness::mysql_source(unix_address(server_), guarded.max_lag),
      .namespaces =
          harness::Guarded{
              .table = guarded.table, .fresh_ids = guarded.fresh_ids, .filter = guarded.filter}
              .yaml(),
      .more = harness::storage(guarded.storage, "1d"),
      .workers = "auto"}
                                   .yaml());
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
  return client.call({"GET", "user:" + std::to_string(id)}) == harness::kAnswer;
}

std::uint64_t info_number(const GuardProcess& guard, const std::string& field) {
  const std::string value = info_field(guard, "users", field);
  return value.empty() ? throw std::runtime_error("GUARD.INFO has no " + field)
                       : std::stoull(value);
}

}  // namespace cuckooguard::bench
