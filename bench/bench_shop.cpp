#include "bench_shop.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "harness/mariadb_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_command.h"

namespace cuckooguard::bench {
namespace {

using harness::GuardProcess;
using harness::SteadyClock;
using Arguments = std::vector<std::string>;

constexpr harness::milliseconds kPatience{600'000};
constexpr const char* kAllIds = "SELECT id FROM users";

class MariaDbShop final : public BenchShop {
 public:
  explicit MariaDbShop(const Arguments& arguments)
      : server_(arguments), session_(server_.session()) {
    create_guard_user(server_);
  }

  std::string_view name() const override { return "mariadb"; }
  void run(const std::string& sql) override { session_.run(sql); }
  std::string value(const std::string& sql) override { return session_.value(sql); }
  std::string position() override { return value("SELECT @@last_gtid"); }
  std::string numbers(std::uint64_t first, std::uint64_t last) const override {
    return "seq_" + std::to_string(first) + "_to_" + std::to_string(last);
  }
  // The log of so many rows is large.
  void create_users(std::uint64_t rows, Ids ids) override {
    create_empty_users(ids, {.type = "VARCHAR(36) CHARACTER SET utf8mb4", .key = "user:{id|ci}"});
    run("SET sql_log_bin = 0");
    insert_users(1, rows);
    run("ANALYZE TABLE users; SET sql_log_bin = 1");
  }
  std::optional<double> log_client_seconds(const std::function<void()>& change) override {
    change();
    return std::nullopt;
  }
  void forget_log(const GuardProcess& /*guard*/) override {}

 private:
  Arguments client() const override {
    return {"/usr/bin/mariadb",
            "--no-defaults",
            "--user=root",
            "--socket=" + server_.unix_path().string(),
            "--quick",
            "-N",
            "-B",
            "-e",
            kAllIds,
            harness::SqlServer::kDatabase};
  }
  std::vector<pid_t> processes() const override { return {server_.pid()}; }
  std::string source(harness::milliseconds max_lag) const override {
    return harness::mysql_source(unix_address(server_), max_lag);
  }

  harness::MariaDbServer server_;
  harness::SqlSession session_;
};

class PostgresShop final : public BenchShop {
 public:
  explicit PostgresShop(const Arguments& settings)
      : server_({.settings = settings}), session_(server_.session()) {
    create_guard_role(server_);
  }

  std::string_view name() const override { return "postgres"; }
  void run(const std::string& sql) override { session_.run(sql); }
  std::string value(const std::string& sql) override { return session_.value(sql); }
  std::string position() override { return value("SELECT pg_current_wal_insert_lsn()"); }
  std::string numbers(std::uint64_t first, std::uint64_t last) const override {
    return "generate_series(" + std::to_string(first) + ", " + std::to_string(last) + ") AS seq";
  }
  // Who reads rows first would write to their pages.
  void create_users(std::uint64_t rows, Ids ids) override {
    create_empty_users(ids, {.type = "VARCHAR(36)", .key = "user:{id}"});
    insert_users(1, rows);
    run("VACUUM (ANALYZE, FREEZE) users");
  }
  std::optional<double> log_client_seconds(const std::function<void()>& change) override {
    run("SELECT pg_create_logical_replication_slot('client', 'pgoutput')");
    change();
    const double seconds = seconds_of({harness::PostgresServer::program("pg_recvlogical"),
                                       "--dbname=" + server_.login(),
                                       "--slot=client",
                                       "--start",
                                       "--option=proto_version=1",
                                       "--option=publication_names=cuckooguard",
                                       "--endpos=" + position(),
                                       "--file=-"});
    run("SELECT pg_drop_replication_slot('client')");
    return seconds;
  }
  // A slot begins at the last place of which the log itself says who was writing.
  void forget_log(const GuardProcess& guard) override {
    run("CHECKPOINT");
    if (guard.call({"GUARD.WAIT", "shop", position(), "60000"}) != ":1\r\n") {
      throw std::runtime_error("the guard does not follow: " + guard.log());
    }
  }

 private:
  Arguments client() const override {
    return {harness::PostgresServer::program("psql"),
            "--no-psqlrc",
            "--dbname=" + server_.login(),
            "--command=COPY (" + std::string(kAllIds) + ") TO STDOUT"};
  }
  std::vector<pid_t> processes() const override { return server_.processes(); }
  std::string source(harness::milliseconds max_lag) const override {
    return harness::postgres_source(unix_address(server_), max_lag);
  }

  harness::PostgresServer server_;
  harness::PostgresSession session_;
};

}  // namespace

double milliseconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

void BenchShop::create_empty_users(Ids ids, const Id& text) {
  if (ids == Ids::text) {
    id_ = text;
    id_.value = "CONCAT('3f2b8c1e-5d4a-4e6f-9a7b-', LPAD(CAST(seq AS CHAR(12)), 12, '0'))";
  }
  run("CREATE TABLE users (id " + id_.type + " PRIMARY KEY, name VARCHAR(40))");
}

void BenchShop::insert_users(std::uint64_t first, std::uint64_t last) {
  run("INSERT INTO users SELECT " + id_.value + ", CONCAT('user', seq) FROM " +
      numbers(first, last));
}

double BenchShop::seconds_of(std::vector<std::string> program) const {
  const auto begin = SteadyClock::now();
  harness::ChildProcess process(std::move(program), {"/dev/null", folder_ / "client_errors"});
  if (process.exit_code(kPatience) != 0) {
    throw std::runtime_error("the database's client: " +
                             harness::read_whole_file(folder_ / "client_errors"));
  }
  return milliseconds_since(begin) / 1000;
}

// Of the threads that live, to the nanosecond. What /proc/<pid>/stat says is sampled at the
// kernel's ticks, and who is woken by a timer as often as a guard that asks for proofs is caught
// too often.
double BenchShop::cpu_seconds() const {
  constexpr double kNanoseconds = 1e9;
  double nanoseconds = 0;
  for (const pid_t pid : processes()) {
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      double ran = 0;
      std::istringstream(harness::read_whole_file(task.path() / "schedstat")) >> ran;
      nanoseconds += ran;
    }
  }
  return nanoseconds / kNanoseconds;
}

GuardProcess BenchShop::guard(const Guarded& guarded, const std::string& program) const {
  return GuardProcess::on_port(
      harness::Configuration{.upstream = redis_.address(),
                             .source = source(guarded.max_lag),
                             .namespaces = harness::Guarded{.keys = id_.key,
                                                            .table = guarded.table,
                                                            .fresh_ids = guarded.fresh_ids,
                                                            .filter = guarded.filter,
                                                            .consistency = guarded.consistency}
                                               .yaml(),
                             .more = harness::storage(guarded.storage, "1d"),
                             .workers = "auto"}
          .yaml(),
      program);
}

GuardProcess BenchShop::guard_of_nothing() const {
  return GuardProcess::on_port("upstream: " + redis_.address() + "\n");
}

std::unique_ptr<BenchShop> make_shop(Database database, bool is_large) {
  if (database == Database::mariadb) {
    return std::make_unique<MariaDbShop>(is_large ? Arguments{"--innodb-buffer-pool-size=3G",
                                                              "--innodb-log-file-size=1G",
                                                              "--max-binlog-size=1G"}
                                                  : Arguments{});
  }
  // What it would do beside what is measured, it does not.
  return std::make_unique<PostgresShop>(is_large ? Arguments{"shared_buffers=3GB",
                                                             "max_wal_size=32GB",
                                                             "checkpoint_timeout=1d",
                                                             "autovacuum=off"}
                                                 : Arguments{});
}

void wait_until_absent(const GuardProcess& guard, std::uint64_t id) {
  auto client = guard.client();
  if (!harness::eventually([&] { return is_absent(client, id); }, kPatience)) {
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
