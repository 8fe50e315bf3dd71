// A row is committed and read through the guard at once, by the session that has committed it and
// by others that hear of it or find it in the database, while attackers ask for keys of nobody: no
// row is ever told to be absent, and the attackers are answered.
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
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/mysql_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_server.h"
#include "harness/slow_link.h"
#include "harness/temporary_directory.h"

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

// Tables `visit (id serial)` and `letter (id text)`.
class Store {
 public:
  virtual ~Store() = default;
  // Of a session of its own: commits a row with this id, or with one that the database gives, and
  // returns it.
  using Insert = std::function<std::string(const std::string& id)>;
  virtual Insert session() = 0;
  // Of a session of its own: the largest id in `visit` that it sees. SQLite's is its writer's.
  using Newest = std::function<std::string()>;
  virtual Newest viewer() { return {}; }
  virtual std::string source() const = 0;
};

constexpr const char* kNewest = "SELECT MAX(id) FROM visit";

// `session`: SqlSession or PostgresSession.
template <class Session>
Store::Newest newest_by(std::shared_ptr<Session> session) {
  return [session] { return session->value(kNewest); };
}
template <class Session>
Store::Insert insert_by(std::shared_ptr<Session> session) {
  return [session](const std::string& id) {
    if (id.empty()) {
      return session->value("INSERT INTO visit (name) VALUES (1) RETURNING id");
    }
    session->run("INSERT INTO letter VALUES ('" + id + "')");
    return id;
  };
}

class SqlStore final : public Store {
 public:
  // `collation`: by which different texts differ. `more`: for the server.
  SqlStore(std::unique_ptr<SqlServer> server,
           const std::string& collation,
           milliseconds delay,
           const std::string& more = "SELECT 1")
      : server_(std::move(server)), link_(server_->port()) {
    auto root = server_->session();
    root.run(more);
    root.run("CREATE TABLE visit (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name INT)");
    root.run("CREATE TABLE letter (id VARCHAR(36) CHARACTER SET utf8mb4 COLLATE " + collation +
             " PRIMARY KEY)");
    create_guard_user(*server_);
    link_.delay_log(delay);
  }
  Insert session() override {
    auto session = std::make_shared<SqlSession>(server_->login());
    if (server_->is_mariadb()) {
      return insert_by(session);
    }
    return [session](const std::string& id) {
      session->run(id.empty() ? "INSERT INTO visit (name) VALUES (1)"
                              : "INSERT INTO letter VALUES ('" + id + "')");
      return id.empty() ? session->value("SELECT LAST_INSERT_ID()") : id;
    };
  }
  Newest viewer() override { return newest_by(std::make_shared<SqlSession>(server_->login())); }
  std::string source() const override {
    return mysql_source(port_address(link_.port()), milliseconds(1000));
  }

 private:
  std::unique_ptr<SqlServer> server_;
  SlowLink link_;
};

std::unique_ptr<Store> on_mariadb(milliseconds delay) {
  return std::make_unique<SqlStore>(std::make_unique<MariaDbServer>(), "utf8mb4_nopad_bin", delay);
}

std::unique_ptr<Store> on_mysql(milliseconds delay, const std::string& more = "SELECT 1") {
  return std::make_unique<SqlStore>(
      std::make_unique<MysqlServer>(*MysqlServer::root()), "utf8mb4_0900_bin", delay, more);
}

class PostgresStore final : public Store {
 public:
  explicit PostgresStore(const std::string& more = "") : more_(more) {
    server_.session().run(
        "CREATE TABLE visit (id BIGSERIAL PRIMARY KEY, name INT);"
        "CREATE TABLE letter (id TEXT PRIMARY KEY)");
    create_guard_role(server_);
    server_.session().run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guard");
  }
  Insert session() override {
    auto session = std::make_shared<PostgresSession>(server_.login());
    if (!more_.empty()) {
      session->run(more_);
    }
    return insert_by(session);
  }
  Newest viewer() override { return newest_by(std::make_shared<PostgresSession>(server_.login())); }
  std::string source() const override {
    return postgres_source(port_address(server_.port()), milliseconds(1000));
  }

 private:
  std::string more_;  // of each session that writes
  PostgresServer server_;
};

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::string follow) : follow_(std::move(follow)) { session()("create"); }
  Insert session() override {
    auto database = std::make_shared<Database>(path(), Journal::wal);
    database->run("CREATE TABLE IF NOT EXISTS visit (id INTEGER PRIMARY KEY AUTOINCREMENT, name)");
    database->run("CREATE TABLE IF NOT EXISTS letter (id TEXT NOT NULL PRIMARY KEY)");
    return [this, database](const std::string& id) {
      if (!id.empty()) {
        database->run("INSERT INTO letter VALUES ('" + id + "')");
        return id;
      }
      const std::scoped_lock lock(mutex_);  // whose id is whose
      const std::uint64_t next = ++last_id_;
      database->run("INSERT INTO visit VALUES (" + std::to_string(next) + ", 1)");
      return std::to_string(next);
    };
  }
  std::string source() const override { return sqlite_source(path(), ", max_lag: 1s, " + follow_); }

 private:
  std::filesystem::path path() const { return directory_ / "shop.db"; }

  std::string follow_;
  TemporaryDirectory directory_;
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;
};

struct Kind {
  const char* name;
  std::optional<std::string> (*missing)();
  std::unique_ptr<Store> (*make)();
};

std::optional<std::string> nothing_missing() {
  return std::nullopt;
}

const std::array kKinds{
    Kind{"mariadb", &MariaDbServer::missing, [] { return on_mariadb(milliseconds(0)); }},
    Kind{"mariadb_5ms_away", &MariaDbServer::missing, [] { return on_mariadb(milliseconds(5)); }},
    Kind{"mysql", &MysqlServer::missing, [] { return on_mysql(milliseconds(0)); }},
    Kind{"mysql_5ms_away", &MysqlServer::missing, [] { return on_mysql(milliseconds(5)); }},
    Kind{"mysql_synchronous",
         &MysqlServer::missing,
         [] { return on_mysql(milliseconds(0), "SET GLOBAL sync_binlog = 1"); }},
    Kind{"postgres",
         &PostgresServer::missing,
         [] { return std::unique_ptr<Store>(new PostgresStore()); }},
    Kind{"postgres_asynchronous",
         &PostgresServer::missing,
         [] { return std::unique_ptr<Store>(new PostgresStore("SET synchronous_commit = off")); }},
    Kind{"sqlite_triggers",
         &nothing_missing,
         [] {
           return std::unique_ptr<Store>(
               new SqliteStore("follow: triggers, install_triggers: true"));
         }},
    Kind{"sqlite_rescan",
         &nothing_missing,
         [] { return std::unique_ptr<Store>(new SqliteStore("follow: rescan")); }},
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
    letters.keys = "letter:{id}";
    letters.table = "letter";
    letters.fresh_ids = "";
    guard_.emplace(GuardProcess::on_port(Configuration{.upstream = redis_.address(),
                                                       .source = store_->source(),
                                                       .namespaces = visits.yaml() + letters.yaml()}
                                             .yaml()));
    auto client = guard_->client();
    ASSERT_TRUE(eventually([&] {
      return client.call({"GET", "visit:999999999"}) == kAnswer &&
             client.call({"GET", "letter:nobodys"}) == kAnswer;
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

  void write(const std::string& prefix, bool has_texts, std::uint64_t rows) {
    const Store::Insert insert = store_->session();
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::string text = std::to_string(random()) + "-" + std::to_string(random());
      const std::string key = prefix + insert(has_texts ? text.substr(0, 36) : "");
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
  void read_newest(const std::string& prefix) {
    const Store::Newest newest = store_->viewer();
    auto client = guard_->client();
    std::string last;
    while (newest && !is_over_) {
      const std::string id = newest();
      if (!id.empty() && id != std::exchange(last, id)) {
        read(client, prefix + id, "who has seen it");
      }
    }
  }
  void attack(const std::string& prefix) {
    auto client = guard_->client();
    std::mt19937_64 random(std::random_device{}());
    while (!is_over_) {
      const std::string key = prefix + std::to_string(1'000'000'000 + random() % 1'000'000'000);
      seen_.absent += client.call({"GET", key}) == kAnswer ? 1 : 0;
    }
  }

  void expect_no_row_is_hidden(const std::string& prefix, bool has_texts) {
    std::vector<std::thread> others;
    for (std::size_t i = 0; i < kAttackers; ++i) {
      others.emplace_back([&] { attack(prefix); });
    }
    others.emplace_back([&] { read_last(); });
    if (!has_texts) {
      others.emplace_back([&] { read_newest(prefix); });
    }
    std::vector<std::thread> writers;
    for (std::size_t i = 0; i < kWriters; ++i) {
      writers.emplace_back([&] { write(prefix, has_texts, rows_to_write() / kWriters); });
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

  std::unique_ptr<Store> store_;
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
  std::mutex mutex_;
  std::string last_;  // key of a row that is committed
  std::atomic<bool> is_over_{false};
  Seen seen_;
};

TEST_P(StrictReads, never_tell_that_a_committed_row_with_a_text_is_absent) {
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
