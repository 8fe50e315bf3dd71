// A row is committed and read through the guard at once, by the session that has committed it and
// by others that hear of it or see it in the database, while attackers ask for keys of nobody: no
// row is ever told to be absent, and the attackers are answered. The database is near or far away,
// its log is late, its commits have two phases, or it is killed again and again.
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
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filter/key_hash.h"
#include "fixtures/skip.h"
#include "fleet/keys.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/mysql_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/row_store.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kWriters = 4;
constexpr std::size_t kAttackers = 3;
constexpr std::uint64_t kRows = 400;
constexpr std::size_t kPipeline = 32;  // reads that an attacker sends at once
constexpr std::uint64_t kParts = 4;    // of what is written: the server crashes between them

std::uint64_t rows_to_write() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const chosen = std::getenv("CUCKOOGUARD_ROWS");
  return chosen == nullptr ? kRows : std::strtoull(chosen, nullptr, 10);
}

// Replies that attackers must have got.
std::uint64_t absent_to_see() {
  return std::clamp<std::uint64_t>(rows_to_write(), 1000, 100'000);
}

struct Kind {
  const char* name;
  std::optional<std::string> (*missing)();
  std::unique_ptr<RowStore> (*make)();
  bool crashes = false;
  bool is_fleet = false;  // the guard follows another one, which reads the database

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

std::optional<std::string> nothing_missing() {
  return std::nullopt;
}
std::optional<std::string> mysql_missing() {
  return MysqlServer::root() ? std::nullopt
                             : std::optional<std::string>("CUCKOOGUARD_MYSQL_ROOT is not set");
}

std::unique_ptr<RowStore> on_mariadb(RowStoreSettings settings = {}) {
  settings.is_on_mysql = false;
  return make_sql_store(settings);
}

const std::array kKinds{
    Kind{"mariadb", &MariaDbServer::missing, [] { return on_mariadb(); }},
    Kind{"mariadb_log_late",
         &MariaDbServer::missing,
         [] { return on_mariadb({.log_delay = milliseconds(5)}); }},
    Kind{"mariadb_far_away",
         &MariaDbServer::missing,
         [] { return on_mariadb({.delay = milliseconds(50)}); }},
    Kind{"mariadb_two_phases",
         &MariaDbServer::missing,
         [] { return on_mariadb({.in_two_phases = true}); }},
    Kind{"mariadb_semi_synchronous",
         &MariaDbServer::missing,
         [] { return on_mariadb({.is_semi_synchronous = true}); }},
    Kind{"mariadb_killed", &MariaDbServer::missing, [] { return on_mariadb(); }, true},
    Kind{"mysql", &mysql_missing, [] { return make_sql_store(); }},
    Kind{"mysql_log_late",
         &mysql_missing,
         [] { return make_sql_store({.log_delay = milliseconds(5)}); }},
    Kind{
        "mysql_two_phases", &mysql_missing, [] { return make_sql_store({.in_two_phases = true}); }},
    Kind{"mysql_killed", &mysql_missing, [] { return make_sql_store(); }, true},
    Kind{"postgres", &PostgresServer::missing, [] { return make_postgres_store(); }},
    Kind{"postgres_asynchronous",
         &PostgresServer::missing,
         [] { return make_postgres_store({.setting = "SET synchronous_commit = off"}); }},
    Kind{"postgres_far_away",
         &PostgresServer::missing,
         [] { return make_postgres_store({.delay = milliseconds(50)}); }},
    Kind{"postgres_two_phases",
         &PostgresServer::missing,
         [] { return make_postgres_store({.in_two_phases = true}); }},
    Kind{"postgres_killed", &PostgresServer::missing, [] { return make_postgres_store(); }, true},
    Kind{"fleet", &MariaDbServer::missing, [] { return on_mariadb(); }, false, true},
    Kind{"fleet_killed", &MariaDbServer::missing, [] { return on_mariadb(); }, true, true},
    Kind{"fleet_of_postgres",
         &PostgresServer::missing,
         [] { return make_postgres_store(); },
         false,
         true},
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
    const Configuration reads{.upstream = redis_.address(),
                              .source = store_->source(),
                              .namespaces = visits.yaml() + letters.yaml()};
    if (GetParam().is_fleet) {
      begin_fleet(reads);
    } else {
      guard_.emplace(GuardProcess::on_port(reads.yaml()));
    }
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    ASSERT_TRUE(eventually([&] {
      return client.call({"GET", "visit:999999999"}) == kAnswer &&
             client.call({"GET", "letter:" + random_uuid(random)}) == kAnswer;
    })) << guard_->log();
  }

  // A builder, and the guard as its follower.
  void begin_fleet(Configuration reads) {
    const std::string secret = folder_.file("secret");
    std::ofstream(secret, std::ios::binary) << std::string(filter::kSecretBytes, 's');
    std::filesystem::permissions(
        secret, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const std::string keys = "fleet: { signing_key_file: " + keys_.private_path() +
                             ", public_key_files: " + keys_.public_path() +
                             " }\nstorage: { secret_file: " + secret;
    reads.source += ", publish: redis";
    reads.more = keys + ", directory: " + folder_.file("kept") + " }\n";
    builder_.emplace(GuardProcess::on_port(reads.yaml()));
    reads.source = "type: fleet, name: shop, max_lag: 1s";
    reads.more = keys + " }\n";
    guard_.emplace(GuardProcess::on_port(reads.yaml()));
  }

  // A row that is there.
  void read(RawClient& client, const std::string& key, const char* who) {
    ++seen_.reads;
    if (client.call({"GET", key}) == kAnswer && seen_.hidden++ == 0) {
      const std::scoped_lock lock(seen_.mutex);
      seen_.first = key + ", read by " + who;
    }
  }

  // What `make` gives; where the server crashes, until it is there again.
  template <class Make>
  auto opened(const Make& make) -> decltype(make()) {
    for (;;) {
      try {
        return make();
      } catch (const std::runtime_error&) {
        if (!GetParam().crashes) {
          throw;
        }
        std::this_thread::yield();
      }
    }
  }

  // Of a row whose commit has not been answered nothing is known.
  void write(const std::string& prefix, bool has_uuids, std::uint64_t rows) {
    RowStore::Insert insert = store_->session();
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    for (std::uint64_t i = 0; i < rows; ++i) {
      std::string id;
      try {
        id = insert(has_uuids ? random_uuid(random) : "");
      } catch (const std::runtime_error&) {
        insert = opened([this] { return store_->session(); });
        continue;
      }
      {
        const std::scoped_lock lock(mutex_);
        last_ = prefix + id;
      }
      ++written_;
      read(client, prefix + id, "its writer");
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
  // As soon as another session sees it, which may be before its commit returns.
  void read_newest(const std::string& prefix) {
    RowStore::Newest newest = store_->viewer();
    auto client = guard_->client();
    std::string last;
    while (newest && !is_over_) {
      std::string id = last;
      try {
        id = newest();
      } catch (const std::runtime_error&) {
        newest = opened([this] { return store_->viewer(); });
      }
      if (!id.empty() && id != std::exchange(last, id)) {
        read(client, prefix + id, "who has seen it");
      }
    }
  }
  void attack(const std::string& prefix, bool has_uuids) {
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    while (!is_over_) {
      std::string reads;
      for (std::size_t i = 0; i < kPipeline; ++i) {
        reads += command(
            {"GET",
             prefix + (has_uuids ? random_uuid(random)
                                 : std::to_string(1'000'000'000 + random() % 1'000'000'000))});
      }
      seen_.absent += count_in(client.exchange(reads, kPipeline), kAnswer);
    }
  }
  // When a quarter of the rows has been written, half of them, and so on.
  void crash_again_and_again() {
    for (std::uint64_t part = 1; part < kParts && !is_over_; ++part) {
      while (!is_over_ && written_ < rows_to_write() / kParts * part) {
        std::this_thread::yield();
      }
      store_->crash();
    }
  }

  void expect_no_row_is_hidden(const std::string& prefix, bool has_uuids) {
    std::vector<std::jthread> others;
    for (std::size_t i = 0; i < kAttackers; ++i) {
      others.emplace_back([&] { attack(prefix, has_uuids); });
    }
    others.emplace_back([&] { read_last(); });
    if (!has_uuids) {
      others.emplace_back([&] { read_newest(prefix); });
    }
    std::vector<std::jthread> writers;
    for (std::size_t i = 0; i < kWriters; ++i) {
      writers.emplace_back([&] { write(prefix, has_uuids, rows_to_write() / kWriters); });
    }
    if (GetParam().crashes) {
      crash_again_and_again();
    }
    writers.clear();
    EXPECT_TRUE(eventually([this] { return seen_.absent >= absent_to_see(); }))
        << "only " << seen_.absent << " absent keys were answered";
    is_over_ = true;
    others.clear();
    EXPECT_EQ(seen_.hidden, 0U) << "of " << seen_.reads << " reads, the first of " << seen_.first;
    EXPECT_GE(written_, rows_to_write() / 2);
    const std::string ns = prefix.substr(0, prefix.size() - 1) + "s";
    EXPECT_EQ(info_field(*guard_, ns, "rows_hidden"), "0");
    std::printf("strict: store=%s unproven=%s rows=%llu reads=%llu hidden=%llu absent=%llu\n",
                GetParam().name,
                info_field(*guard_, ns, "keys_unproven").c_str(),
                static_cast<unsigned long long>(written_.load()),
                static_cast<unsigned long long>(seen_.reads.load()),
                static_cast<unsigned long long>(seen_.hidden.load()),
                static_cast<unsigned long long>(seen_.absent.load()));
  }

  std::unique_ptr<RowStore> store_;
  RedisServer redis_;
  TemporaryDirectory folder_;
  fleet::KeyFiles keys_;
  std::optional<GuardProcess> builder_;
  std::optional<GuardProcess> guard_;
  std::mutex mutex_;
  std::string last_;  // key of a row that is committed
  std::atomic<std::uint64_t> written_{0};
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

// They were rows of another table before.
TEST(StrictPartitions, have_no_row_that_is_told_to_be_absent_when_they_are_attached) {
  SKIP_IF_MISSING(PostgresServer::missing());
  const PostgresServer server;
  const RedisServer redis;
  auto session = server.session();
  session.run("CREATE TABLE parcel (id BIGINT PRIMARY KEY) PARTITION BY RANGE (id)");
  create_guard_role(server);
  const GuardProcess guard = GuardProcess::on_port(Configuration{
      .upstream = redis.address(),
      .source = postgres_source(port_address(server.port()), milliseconds(1000)),
      .namespaces = Guarded{.name = "parcels",
                            .keys = "parcel:{id:uint64}",
                            .table = "parcel",
                            .filter = "{ false_positive_rate: 0.0001%, capacity: 1M }",
                            .consistency = "strict"}
                        .yaml()}
                                                       .yaml());
  auto client = guard.client();
  const auto is_absent = [&](std::uint64_t id) {
    return client.call({"GET", "parcel:" + std::to_string(id)}) == kAnswer;
  };
  constexpr std::uint64_t kPartitions = 10;
  constexpr std::uint64_t kSize = 100;
  for (std::uint64_t first = 0; first < kPartitions * kSize; first += kSize) {
    const std::string name = "parcel_" + std::to_string(first);
    const std::string range =
        "(" + std::to_string(first) + ") TO (" + std::to_string(first + kSize) + ")";
    session.run("CREATE TABLE " + name + " (LIKE parcel INCLUDING ALL); INSERT INTO " + name +
                " SELECT generate_series(" + std::to_string(first) + ", " +
                std::to_string(first + kSize - 1) + ")");
    ASSERT_TRUE(eventually([&] { return is_absent(first); })) << guard.log();
    session.run("ALTER TABLE parcel ATTACH PARTITION " + name + " FOR VALUES FROM " + range);
    for (std::uint64_t id = first; id < first + kSize; ++id) {
      ASSERT_FALSE(is_absent(id)) << id;
    }
  }
}

}  // namespace
}  // namespace cuckooguard::harness
