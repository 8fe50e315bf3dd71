// A row is committed and read through the guard at once, by the session that has committed it and
// by others that hear of it, while attackers ask for keys of nobody: no row is ever told to be
// absent, and the attackers are answered.
//
//   CUCKOOGUARD_ROWS=250000 strict_reads_test    so many rows in each test; the long form
//
// The rows of a test are written with integers that the database gives, or with random UUIDs. A
// test that saw fewer absent replies than it must fails.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_server.h"
#include "harness/row_store.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kWriters = 4;
constexpr std::size_t kAttackers = 3;
constexpr std::uint64_t kRows = 1000;
constexpr std::uint64_t kAbsentMin = 1000;  // replies that the attackers must have got

std::uint64_t rows_to_write() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const chosen = std::getenv("CUCKOOGUARD_ROWS");
  return chosen == nullptr ? kRows : std::strtoull(chosen, nullptr, 10);
}

struct Kind {
  const char* name;
  std::optional<std::string> (*missing)();
  std::unique_ptr<RowStore> (*make)();
};

std::optional<std::string> nothing_missing() {
  return std::nullopt;
}

const std::array kKinds{
    Kind{"mariadb", &MariaDbServer::missing, [] { return make_sql_store(); }},
    Kind{"mariadb_5ms_away",
         &MariaDbServer::missing,
         [] { return make_sql_store(milliseconds(5)); }},
    Kind{"postgres", &PostgresServer::missing, [] { return make_postgres_store(); }},
    Kind{"postgres_asynchronous",
         &PostgresServer::missing,
         [] { return make_postgres_store("SET synchronous_commit = off"); }},
    Kind{"sqlite_triggers",
         &nothing_missing,
         [] { return make_sqlite_store("follow: triggers, install_triggers: true"); }},
    Kind{"sqlite_rescan", &nothing_missing, [] { return make_sqlite_store("follow: rescan"); }},
};

struct Seen {
  std::atomic<std::uint64_t> hidden{0};  // rows that were told to be absent
  std::atomic<std::uint64_t> reads{0};   // of rows that there are
  std::atomic<std::uint64_t> absent{0};  // replies to attackers
  std::mutex mutex;
  std::string first;  // of the hidden rows
};

class StrictReads : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    SKIP_IF_MISSING(GetParam().missing());
    store_ = GetParam().make();
    Guarded visits{.name = "visits",
                   .keys = "visit:{id:uint64}",
                   .table = "visit",
                   .fresh_ids = "auto",
                   .filter = "{ false_positive_rate: 0.0001%, capacity: 1M }",
                   .consistency = "strict"};
    Guarded letters = visits;
    letters.name = "letters";
    letters.keys = "letter:" + store_->letter_id();
    letters.table = "letter";
    letters.fresh_ids = "";
    guard_.emplace(GuardProcess::on_port(Configuration{.upstream = redis_.address(),
                                                       .source = store_->source(),
                                                       .namespaces = visits.yaml() + letters.yaml()}
                                             .yaml()));
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    ASSERT_TRUE(eventually([&] {
      return client.call({"GET", "visit:999999999"}) == kAnswer &&
             client.call({"GET", "letter:" + random_uuid(random)}) == kAnswer;
    })) << guard_->log();
  }

  // A row that is there.
  void read(RawClient& client, const std::string& key, const char* who) {
    ++seen_.reads;
    if (client.call({"GET", key}) == kAnswer && seen_.hidden++ == 0) {
      const std::scoped_lock lock(seen_.mutex);
      seen_.first = key + ", read by " + who;
    }
  }

  void write(const std::string& prefix, bool has_uuids, std::uint64_t rows) {
    const RowStore::Insert insert = store_->session();
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::string key = prefix + insert(has_uuids ? random_uuid(random) : "");
      {
        const std::scoped_lock lock(mutex_);
        last_ = key;
      }
      read(client, key, "its writer");
    }
  }
  void read_last() {
    auto client = guard_->client();
    while (!is_over_) {
      std::string key;
      {
        const std::scoped_lock lock(mutex_);
        key = last_;
      }
      if (!key.empty()) {
        read(client, key, "another");
      }
    }
  }
  void attack(const std::string& prefix, bool has_uuids) {
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    while (!is_over_) {
      const std::string key =
          prefix + (has_uuids ? random_uuid(random)
                              : std::to_string(1'000'000'000 + random() % 1'000'000'000));
      seen_.absent += client.call({"GET", key}) == kAnswer ? 1 : 0;
    }
  }

  void expect_no_row_is_hidden(const std::string& prefix, bool has_uuids) {
    std::vector<std::thread> others;
    for (std::size_t i = 0; i < kAttackers; ++i) {
      others.emplace_back([&] { attack(prefix, has_uuids); });
    }
    others.emplace_back([&] { read_last(); });
    std::vector<std::thread> writers;
    for (std::size_t i = 0; i < kWriters; ++i) {
      writers.emplace_back([&] { write(prefix, has_uuids, rows_to_write() / kWriters); });
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
    EXPECT_TRUE(eventually([this] { return seen_.absent >= kAbsentMin; }))
        << "only " << seen_.absent << " absent keys were answered";
    is_over_ = true;
    for (std::thread& other : others) {
      other.join();
    }
    EXPECT_EQ(seen_.hidden, 0U) << "of " << seen_.reads << " reads, the first of " << seen_.first;
    const std::string ns = prefix.substr(0, prefix.size() - 1) + "s";
    std::printf("strict: store=%s unproven=%s rows=%llu reads=%llu hidden=%llu absent=%llu\n",
                GetParam().name,
                info_field(*guard_, ns, "keys_unproven").c_str(),
                static_cast<unsigned long long>(rows_to_write()),
                static_cast<unsigned long long>(seen_.reads.load()),
                static_cast<unsigned long long>(seen_.hidden.load()),
                static_cast<unsigned long long>(seen_.absent.load()));
  }

  std::unique_ptr<RowStore> store_;
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
  std::mutex mutex_;
  std::string last_;  // key of a row that is committed
  std::atomic<bool> is_over_{false};
  Seen seen_;
};

TEST_P(StrictReads, never_tell_that_a_committed_row_with_a_uuid_is_absent) {
  expect_no_row_is_hidden("letter:", true);
}

TEST_P(StrictReads, never_tell_that_a_committed_row_with_a_number_is_absent) {
  expect_no_row_is_hidden("visit:", false);
}

INSTANTIATE_TEST_SUITE_P(Of, StrictReads, testing::ValuesIn(kKinds), [](const auto& kind) {
  return std::string(kind.param.name);
});

}  // namespace
}  // namespace cuckooguard::harness
