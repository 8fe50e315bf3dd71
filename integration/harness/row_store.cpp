#include "harness/row_store.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/mariadb_server.h"
#include "harness/mysql_server.h"
#include "harness/postgres_server.h"
#include "harness/replication.h"
#include "harness/slow_link.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kMaxLagOfStores{1000};

std::string application_url(const std::string& scheme, std::uint16_t port) {
  return scheme + "://app:word@127.0.0.1:" + std::to_string(port) + "/shop";
}

constexpr const char* kNewest = "SELECT MAX(id) FROM visit";

// A question is answered when it has gone there and come back.
std::string source_of(const RowStoreSettings& settings) {
  constexpr int kTimes = 6;
  return settings.delay == milliseconds(0)
             ? ""
             : ", strict_hold: " + std::to_string(kTimes * settings.delay.count()) + "ms";
}

class SqlStore final : public RowStore {
 public:
  explicit SqlStore(const RowStoreSettings& settings)
      : settings_(settings),
        server_(settings.is_on_mysql ? std::unique_ptr<SqlServer>(
                                           std::make_unique<MysqlServer>(*MysqlServer::root()))
                                     : std::make_unique<MariaDbServer>()),
        link_(server_->port()) {
    auto root = server_->session();
    root.run("CREATE TABLE visit (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name INT)");
    root.run(std::string("CREATE TABLE letter (id VARCHAR(36) CHARACTER SET utf8mb4 COLLATE ") +
             (server_->is_mariadb() ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin") + " PRIMARY KEY)");
    root.run("CREATE USER app@localhost IDENTIFIED BY 'word'");
    root.run("GRANT ALL ON shop.* TO app@localhost");
    create_guard_user(*server_);
    link_.delay_log(settings.log_delay);
    link_.delay_all(settings.delay);
    if (settings.is_semi_synchronous) {
      begin_semi_synchronous_replica(root);
    }
  }
  Insert session() override {
    auto session = std::make_shared<SqlSession>(server_->login());
    if (!settings_.setting.empty()) {
      session->run(settings_.setting);
    }
    return [this, session](const std::string& uuid) {
      const std::string xid = "'" + std::to_string(++transactions_) + "'";
      if (settings_.in_two_phases) {
        session->run("XA START " + xid);
      }
      const std::string visit = "INSERT INTO visit (name) VALUES (1)";
      std::string id = uuid;
      if (!uuid.empty()) {
        session->run("INSERT INTO letter VALUES ('" + uuid + "')");
      } else if (server_->is_mariadb()) {
        id = session->value(visit + " RETURNING id");
      } else {
        session->run(visit);
        id = session->value("SELECT LAST_INSERT_ID()");
      }
      if (settings_.in_two_phases) {
        session->run("XA END " + xid);
        session->run("XA PREPARE " + xid);
        session->run("XA COMMIT " + xid);
      }
      return id;
    };
  }
  Newest viewer() override {
    return [session = std::make_shared<SqlSession>(server_->login())] {
      return session->value(kNewest);
    };
  }
  void crash() override {
    server_->kill();
    server_->start_again();
  }
  std::string source() const override {
    return mysql_source(port_address(link_.port()), kMaxLagOfStores, source_of(settings_));
  }
  std::string url() const override { return application_url("mysql", server_->port()); }

 private:
  void begin_semi_synchronous_replica(SqlSession& root) {
    replica_.emplace(std::vector<std::string>{"--server-id=2"});
    replica_->session("").run("SET GLOBAL rpl_semi_sync_slave_enabled = ON");
    root.run("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_COMMIT");
    root.run("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    replicate(static_cast<const MariaDbServer&>(*server_), *replica_);
    if (!eventually([&] {
          return root.value(
                     "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                     "VARIABLE_NAME = 'RPL_SEMI_SYNC_MASTER_CLIENTS'") == "1";
        })) {
      throw std::runtime_error("the replica does not become semi-synchronous");
    }
  }

  RowStoreSettings settings_;
  std::unique_ptr<SqlServer> server_;
  std::optional<MariaDbServer> replica_;
  SlowLink link_;
  std::atomic<std::uint64_t> transactions_{0};
};

class PostgresStore final : public RowStore {
 public:
  explicit PostgresStore(const RowStoreSettings& settings)
      : settings_(settings),
        server_({.settings = {"max_prepared_transactions=20"}}),
        link_(server_.port()) {
    server_.session().run(
        "CREATE TABLE visit (id BIGSERIAL PRIMARY KEY, name INT);"
        "CREATE TABLE letter (id UUID PRIMARY KEY);"
        "CREATE ROLE app LOGIN PASSWORD 'word';"
        "GRANT ALL ON visit, letter, visit_id_seq TO app");
    create_guard_role(server_);
    link_.delay_all(settings.delay);
  }
  Insert session() override {
    auto session = std::make_shared<PostgresSession>(server_.login());
    if (!settings_.setting.empty()) {
      session->run(settings_.setting);
    }
    return [this, session](const std::string& uuid) {
      const std::string xid = "'" + std::to_string(++transactions_) + "'";
      if (settings_.in_two_phases) {
        session->run("BEGIN");
      }
      std::string id =
          session->value(uuid.empty() ? "INSERT INTO visit (name) VALUES (1) RETURNING id"
                                      : "INSERT INTO letter VALUES ('" + uuid + "') RETURNING id");
      if (settings_.in_two_phases) {
        session->run("PREPARE TRANSACTION " + xid);
        session->run("COMMIT PREPARED " + xid);
      }
      return id;
    };
  }
  Newest viewer() override {
    return [session = std::make_shared<PostgresSession>(server_.login())] {
      return session->value(kNewest);
    };
  }
  void crash() override {
    server_.kill();
    server_.start_again();
  }
  std::string source() const override {
    return postgres_source(port_address(link_.port()), kMaxLagOfStores, source_of(settings_));
  }
  std::string url() const override { return application_url("postgresql", server_.port()); }
  std::string letter_id() const override { return "{id:uuid}"; }

 private:
  RowStoreSettings settings_;
  PostgresServer server_;
  SlowLink link_;
  std::atomic<std::uint64_t> transactions_{0};
};

class SqliteStore final : public RowStore {
 public:
  explicit SqliteStore(std::string follow) : follow_(std::move(follow)) { session(); }
  Insert session() override {
    auto database = std::make_shared<Database>(path(), Journal::wal);
    database->run("CREATE TABLE IF NOT EXISTS visit (id INTEGER PRIMARY KEY AUTOINCREMENT, name)");
    database->run("CREATE TABLE IF NOT EXISTS letter (id TEXT NOT NULL PRIMARY KEY)");
    return [this, database](const std::string& uuid) {
      if (!uuid.empty()) {
        database->run("INSERT INTO letter VALUES ('" + uuid + "')");
        return uuid;
      }
      const std::scoped_lock lock(mutex_);  // whose id is whose
      const std::uint64_t next = ++last_id_;
      database->run("INSERT INTO visit VALUES (" + std::to_string(next) + ", 1)");
      return std::to_string(next);
    };
  }
  Newest viewer() override { return {}; }
  std::string source() const override { return sqlite_source(path(), ", max_lag: 1s, " + follow_); }
  std::string url() const override { return path().string(); }

 private:
  std::filesystem::path path() const { return directory_ / "shop.db"; }

  std::string follow_;
  TemporaryDirectory directory_;
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;
};

}  // namespace

std::unique_ptr<RowStore> make_sql_store(const RowStoreSettings& settings) {
  return std::make_unique<SqlStore>(settings);
}

std::unique_ptr<RowStore> make_postgres_store(const RowStoreSettings& settings) {
  return std::make_unique<PostgresStore>(settings);
}

std::unique_ptr<RowStore> make_sqlite_store(const std::string& follow) {
  return std::make_unique<SqliteStore>(follow);
}

std::string random_uuid(std::mt19937_64& random) {
  const std::uint64_t high = random();
  const std::uint64_t low = random();
  constexpr std::size_t kLength = 36;
  std::string uuid(kLength + 1, '\0');  // with the terminator
  std::snprintf(uuid.data(),
                uuid.size(),
                "%08llx-%04llx-%04llx-%04llx-%012llx",
                static_cast<unsigned long long>(high >> 32U),
                static_cast<unsigned long long>(high >> 16U & 0xffffU),
                static_cast<unsigned long long>(high & 0xffffU),
                static_cast<unsigned long long>(low >> 48U),
                static_cast<unsigned long long>(low & 0xffff'ffff'ffffU));
  uuid.resize(kLength);
  return uuid;
}

}  // namespace cuckooguard::harness
