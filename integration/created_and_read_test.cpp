// Unmodified frameworks create a row, commit it, and read its key from their cache at once, through
// a guard whose absent reply means "no such row" to them. No row that exists is answered absent,
// while attackers who ask for rows that do not exist are answered. The programs are in
// integration/frameworks.
//
//   CUCKOOGUARD_ROWS=100000 created_and_read_test    so many rows in each test; the long form
//   CUCKOOGUARD_MYSQL_ROOT=…                         on a MySQL in place of MariaDB
//
// Inside the transaction the row is absent too, unless the guard tolerates some such reads. That
// and `consistency: max_lag` with a late log show that the programs notice absent replies. A test
// fails if attackers got fewer than a quarter as many as it has rows.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "frameworks/creator.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/mysql_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/row_store.h"

namespace cuckooguard::harness {
namespace {

constexpr std::uint64_t kRows = 1836;  // 20,000 in 11 tests
constexpr std::array<std::uint64_t, 2> kProcesses{1, 8};
constexpr std::array kTables{"visit", "letter"};
constexpr std::size_t kAttackers = 3;
constexpr std::size_t kPipeline = 8;  // reads that an attacker sends at once

constexpr std::uint64_t kRowsInside = 12;

std::uint64_t rows_of_each_process() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const chosen = std::getenv("CUCKOOGUARD_ROWS");
  const std::uint64_t rows = chosen == nullptr ? kRows : std::strtoull(chosen, nullptr, 10);
  return std::max<std::uint64_t>(rows / (kTables.size() * (kProcesses[0] + kProcesses[1])), 1);
}

struct Kind {
  const char* name;
  std::optional<std::string> (*missing)();
  std::unique_ptr<RowStore> (*make)();

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

const std::array kKinds{
    Kind{"mariadb", &missing_server, [] { return make_sql_store(); }},
    Kind{"postgres", &PostgresServer::missing, [] { return make_postgres_store(); }},
    Kind{"sqlite",
         [] { return std::optional<std::string>(); },
         [] { return make_sqlite_store("follow: triggers, install_triggers: true"); }},
};

// Of a row that does not exist.
std::string random_id(const std::string& table, std::mt19937_64& random) {
  constexpr std::uint64_t kFar = 1'000'000'000;
  return table == "letter" ? random_uuid(random) : std::to_string(kFar + random() % kFar);
}

// Reads keys of rows that do not exist, until end().
class Attack {
 public:
  Attack(const GuardProcess& guard, const std::string& prefix, const std::string& table) {
    for (std::size_t i = 0; i < kAttackers; ++i) {
      attackers_.emplace_back([this, &guard, prefix, table](const std::stop_token& stop) {
        RawClient client = guard.client();
        std::mt19937_64 random(std::random_device{}());
        while (!stop.stop_requested()) {
          std::string reads;
          for (std::size_t read = 0; read < kPipeline; ++read) {
            reads += command({"GET", prefix + table + ":" + random_id(table, random)});
          }
          const std::string replies = client.exchange(reads, kPipeline);
          absent_ += kPipeline - count_in(replies, kNil);  // Redis has none of them
        }
      });
    }
  }
  std::uint64_t end() {
    attackers_.clear();
    return absent_;
  }

 private:
  std::atomic<std::uint64_t> absent_{0};  // replies
  std::vector<std::jthread> attackers_;
};

class Application {
 public:
  Application(Framework framework, std::unique_ptr<RowStore> store)
      : creator_(creator_on(framework)), store_(std::move(store)) {}

  // Returns when the guard answers absent keys of both tables. `more`: as Guarded::more.
  void begin_guard(const std::string& consistency, const std::string& more = "") {
    guard_.reset();
    Guarded visits{.name = "visit",
                   .keys = std::string(creator_.key_prefix) + "visit:{id:uint64}",
                   .table = "visit",
                   .fresh_ids = "",
                   .absent_reply = creator_.absent_reply,
                   .filter = "{ false_positive_rate: 0.0001%, capacity: 1M }",
                   .consistency = consistency,
                   .more = more};
    Guarded letters = visits;
    letters.name = letters.table = "letter";
    letters.keys = creator_.key_prefix + ("letter:" + store_->letter_id());
    guard_.emplace(GuardProcess::on_port(Configuration{.upstream = redis_.address(),
                                                       .source = store_->source(),
                                                       .namespaces = visits.yaml() + letters.yaml()}
                                             .yaml()));
    std::mt19937_64 random(std::random_device{}());
    for (const std::string table : kTables) {
      EXPECT_TRUE(eventually([&] {
        const std::string key = creator_.key_prefix + table + ":" + random_id(table, random);
        return guard_->call({"GUARD.CHECK", key}) == "*1\r\n:0\r\n";
      })) << guard_->log();
    }
  }

  Created run(const Work& work, const std::function<void()>& on_ready = [] {}) {
    return create_and_read(creator_, guard_->port(), store_->url(), work, on_ready);
  }
  std::string info(const std::string& table, const std::string& field) const {
    return info_field(*guard_, table, field);
  }
  const GuardProcess& guard() const { return *guard_; }
  const RedisServer& redis() const { return redis_; }
  const Creator& creator() const { return creator_; }

 private:
  Creator creator_;
  std::unique_ptr<RowStore> store_;
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
};

class CreatedAndRead : public testing::TestWithParam<std::tuple<Framework, Kind>> {
 protected:
  void SetUp() override {
    const auto& [framework, kind] = GetParam();
    SKIP_IF_MISSING(kind.missing());
    SKIP_IF_MISSING(missing_for(framework, kind.name));
    application_.emplace(framework, kind.make());
  }

  void expect_no_row_is_absent(const std::string& table, std::uint64_t processes) {
    const std::uint64_t reads_before = application_->redis().calls("get");
    std::optional<Attack> attack;
    SteadyClock::time_point begin;
    const Work work{.table = table, .processes = processes, .rows = rows_of_each_process()};
    const Created created = application_->run(work, [&] {
      begin = SteadyClock::now();
      attack.emplace(application_->guard(), application_->creator().key_prefix, table);
    });
    const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    const std::uint64_t answered = attack->end();
    std::printf(
        "created_and_read: framework=%s database=%s keys=%s processes=%llu rows=%llu "
        "absent=%llu attackers_answered=%llu unproven=%s seconds=%.1f\n",
        application_->creator().name,
        database(),
        table == "visit" ? "bigint" : "uuid",
        static_cast<unsigned long long>(processes),
        static_cast<unsigned long long>(created.rows),
        static_cast<unsigned long long>(created.absent),
        static_cast<unsigned long long>(answered),
        application_->info(table, "keys_unproven").c_str(),
        seconds);
    EXPECT_EQ(created.rows, processes * work.rows);
    EXPECT_EQ(created.absent, 0U) << "of " << created.rows << " rows";
    EXPECT_GE(answered, created.rows / 4);
    EXPECT_GE(application_->redis().calls("get") - reads_before, created.rows);
  }

  // Shows that the program notices absent replies.
  void expect_a_row_to_be_absent_before_its_commit() {
    const Created created =
        application_->run({.table = "letter", .rows = kRowsInside, .when = "inside"});
    EXPECT_EQ(created.rows, kRowsInside);
    EXPECT_GT(created.absent, 0U);
  }

  // Inside the transaction, at a tolerated rate.
  void expect_no_row_is_absent_in_quiet_times(const std::string& table) {
    constexpr std::uint64_t kIntervalMs = 125;
    const std::uint64_t reads_before = application_->redis().calls("get");
    const Created created = application_->run(
        {.table = table, .rows = kRowsInside, .when = "inside", .interval_ms = kIntervalMs});
    std::printf(
        "created_and_read: framework=%s database=%s keys=%s inside=1 rows=%llu absent=%llu\n",
        application_->creator().name,
        database(),
        table == "visit" ? "bigint" : "uuid",
        static_cast<unsigned long long>(created.rows),
        static_cast<unsigned long long>(created.absent));
    EXPECT_EQ(created.rows, kRowsInside);
    EXPECT_EQ(created.absent, 0U);
    EXPECT_GE(application_->redis().calls("get") - reads_before, created.rows);
  }

  static const char* database() {
    const std::string name = std::get<Kind>(GetParam()).name;
    return name == "mariadb" && MysqlServer::root() ? "mysql" : std::get<Kind>(GetParam()).name;
  }

  std::optional<Application> application_;
};

TEST_P(CreatedAndRead, a_row_is_never_told_to_be_absent) {
  application_->begin_guard("");
  expect_a_row_to_be_absent_before_its_commit();
  for (const std::string table : kTables) {
    ASSERT_EQ(application_->info(table, "consistency"), "strict");
    for (const std::uint64_t processes : kProcesses) {
      expect_no_row_is_absent(table, processes);
    }
  }
  application_->begin_guard("", ", tolerate: 10/s");
  for (const std::string table : kTables) {
    expect_no_row_is_absent_in_quiet_times(table);
  }
}

INSTANTIATE_TEST_SUITE_P(By,
                         CreatedAndRead,
                         testing::Combine(testing::Values(Framework::django,
                                                          Framework::rails,
                                                          Framework::laravel,
                                                          Framework::node),
                                          testing::ValuesIn(kKinds)),
                         [](const auto& tested) {
                           return std::string(name_of(std::get<0>(tested.param))) + "_on_" +
                                  std::get<1>(tested.param).name;
                         });

// The contrast: without strict.
TEST(CreatedAndReadWithMaxLag, a_row_is_told_to_be_absent_while_the_log_is_late) {
  SKIP_IF_MISSING(missing_server());
  SKIP_IF_MISSING(missing_for(Framework::django, "mariadb"));
  constexpr milliseconds kLate{50};
  constexpr std::uint64_t kFew = 20;
  Application application(Framework::django, make_sql_store({.log_delay = kLate}));
  application.begin_guard("max_lag");
  const Created created = application.run({.table = "letter", .rows = kFew});
  EXPECT_EQ(created.rows, kFew);
  EXPECT_GT(created.absent, 0U);
}

}  // namespace
}  // namespace cuckooguard::harness
